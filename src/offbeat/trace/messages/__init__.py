"""Point-to-point calls of a trace: matched sends and receives, waiting, statistics."""
