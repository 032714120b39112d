"""Say something about kernels without changing them."""
