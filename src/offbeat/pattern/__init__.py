"""Arrival patterns: shapes, the pattern file, drawing one."""
