"""Two measurements of the same: what changed between them, by how much, and how surely."""
