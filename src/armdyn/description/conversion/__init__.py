"""One description -> another: Denavit–Hartenberg tables of any chain."""
