"""Kernels and differentiable functions that users write."""
