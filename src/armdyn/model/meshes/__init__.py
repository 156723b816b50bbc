"""Bodies from triangle meshes: files read, surfaces checked, volumes and moments integrated."""
