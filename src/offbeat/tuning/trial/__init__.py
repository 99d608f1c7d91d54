"""A program run in turn with several choices of algorithms, and which of them was the fastest."""
