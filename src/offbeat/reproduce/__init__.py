"""Figures of the paper: the study, the pictures, and a check of the paper's claims."""
