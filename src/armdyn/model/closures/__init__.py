"""What ties joints together: linear relations and loops."""
