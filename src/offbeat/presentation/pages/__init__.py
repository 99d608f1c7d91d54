"""Pages as self-contained HTML files: traces, iterations, clock checks, tuned programs."""
