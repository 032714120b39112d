"""Memory of devices: buffers, caches of freed blocks, sub-allocation."""
