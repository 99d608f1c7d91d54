"""The files of a trace: format, pages, checksums, clock points; the folder of a trace as a whole."""
