"""Running a study: its order, its repetitions, resuming, growth of the study, and progress."""
