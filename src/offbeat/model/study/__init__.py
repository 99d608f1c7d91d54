"""The study: its file, the checks of the file, and its cases."""
