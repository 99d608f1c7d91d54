"""The result directory of a study: writing it safely, reading it, importing and exporting."""
