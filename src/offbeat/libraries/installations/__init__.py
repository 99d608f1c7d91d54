"""MPI installations: finding, identifying and testing them, and building the native parts for them."""
