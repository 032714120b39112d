"""Choose one spelling among equal kernels."""
