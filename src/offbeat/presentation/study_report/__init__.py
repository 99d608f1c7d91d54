"""The HTML report of a study, its figures, and their files."""
