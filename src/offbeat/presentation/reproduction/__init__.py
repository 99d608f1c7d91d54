"""Figures of papers: what is measured or simulated, the pictures, and a check of the papers' claims."""
