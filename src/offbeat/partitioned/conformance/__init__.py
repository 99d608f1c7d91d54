"""Checks of partitioned communication against MPI 4.0, chapter 4: what is right, wrong, crashes or hangs."""
