"""Layers: each holds its tensors as attributes and is called on its input."""
