"""MPI installations: finding one, building the native parts for it, launching it, and its quirks."""
