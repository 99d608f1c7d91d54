"""From a program to a faster program: its trace, the study of its calls, tuning files, a trial, a verdict."""
