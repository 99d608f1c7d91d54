"""Figures of the paper, from the study that makes them to the picture and what it shows."""
