"""Rules files that users have: what a file forces, what is wrong in it, and what it never reaches."""
