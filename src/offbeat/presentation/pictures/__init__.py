"""Pictures as files: algorithms, patterns, platforms, calibrations, predictions, programs."""
