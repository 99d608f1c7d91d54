"""Whether a library obeys its tuning files, and whether these files break a legal call."""
