"""What yields arrival and exit times for the cases of a study."""
