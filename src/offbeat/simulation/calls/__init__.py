"""A collective's algorithm on a simulated machine: from arrivals to exits."""
