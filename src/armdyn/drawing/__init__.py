"""What figures, reports and the workbench draw with: views, skeletons, solids, sheets, curves, labels."""
