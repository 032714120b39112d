"""The interpreter of kernels."""
