"""Matrix algorithms as kernels of sequential loops, and the loops they are written in."""
