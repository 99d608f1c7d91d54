"""Pictures, tables and pages, for every room that shows something: figures, coloured grids, HTML pages."""
