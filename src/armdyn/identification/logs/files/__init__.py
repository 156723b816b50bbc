"""Files that hold logs: CSV, NPZ and Parquet, their columns and units."""
