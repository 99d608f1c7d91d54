"""Arrival patterns: shapes, pattern files, replay files, drawing them."""

SHAPE_NAMES = (
    "no_delay",
    "ascending",
    "descending",
    "first_delayed",
    "last_delayed",
    "mid_delayed",
    "random",
    "half_delayed",
    "bell",
    "node_delayed",
    "noise",
)
"""The shapes, for help texts and completion: importing this module does not load numpy."""
