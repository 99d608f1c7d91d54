"""Tuning files from choices, and the proof that a library obeys them."""
