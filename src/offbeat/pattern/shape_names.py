"""The names of the shapes, for help texts and completion: without numpy, which ``shapes.py`` loads."""

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
)
