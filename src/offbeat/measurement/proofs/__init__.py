"""Which algorithm ran: what calls executed, the verdict on each algorithm, the library's own decision."""
