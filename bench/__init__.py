"""Speed of tg beside PyTorch and NumPy, in one run on one machine."""

import os

# The threads of OpenBLAS spin for some hundredth of a second after a product of NumPy, on the core
# that the next library's second thread needs. This many doublings of a cycle are microseconds, and
# cost NumPy nothing; it is read when NumPy is loaded.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
