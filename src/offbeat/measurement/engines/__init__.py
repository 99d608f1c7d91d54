"""Engines that produce arrival and exit times for the cases of a study, by measuring or simulating."""
