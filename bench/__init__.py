"""Speed of tg beside PyTorch and NumPy, in one run on one machine."""
