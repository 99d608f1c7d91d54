"""Tuning files: written for each MPI library, and proved to be obeyed."""
