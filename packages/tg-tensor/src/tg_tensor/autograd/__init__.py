"""Gradients of tensor-form graphs."""
