"""Legal calls of collectives, drawn at random: the grammar, the kinds of calls, and which algorithms fail."""
