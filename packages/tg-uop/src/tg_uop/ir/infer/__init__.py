"""Facts derived from a node and its operands: dtype, shape, bounds, ranges, place."""
