"""Collective calls of a trace: matched across ranks; their times, communicators, call sites, statistics."""
