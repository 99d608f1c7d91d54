"""From point-to-point measurements of a machine to its platform file, with what the model misses."""
