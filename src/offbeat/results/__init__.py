"""One directory a study: writing it safely, reading it, importing and exporting."""
