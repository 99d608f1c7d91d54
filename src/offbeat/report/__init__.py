"""The report: tables and pictures of a study in one HTML file."""
