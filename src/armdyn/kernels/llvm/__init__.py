"""Programs as LLVM code, in this process."""
