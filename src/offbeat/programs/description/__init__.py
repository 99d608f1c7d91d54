"""Program files: what every rank does in an iteration; their simulation, and their speed in lockstep."""
