"""Memory of other libraries as buffers."""
