"""A selection as text, as details and as grids."""
