"""What a study asks for: the file, its checks, and the cases it expands to."""
