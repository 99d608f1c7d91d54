"""The Python API: studies, results, selections, tuning files and programs as objects that notebooks show."""
