"""The backend for arrays on a GPU (CuPy): programs and loops as CUDA."""
