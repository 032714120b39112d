"""Files as buffers."""
