"""What figures, reports and the workbench draw with: skeletons, views, arms, solids, sheets, curves."""
