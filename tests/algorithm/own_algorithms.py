"""Algorithms as a user could write them, in a separate file."""


def chain(rank):
    """A bcast."""
    if rank.id > 0:
        rank.recv(rank.id - 1, rank.output)
    if rank.id < rank.p - 1:
        rank.send(rank.id + 1, rank.output)


def tree(rank):
    """A reduce to rank 0 alone, in rank order, for powers of two."""
    if rank.p & (rank.p - 1):
        raise NotImplementedError(f"{rank.p} is no power of two")
    if rank.root:
        raise NotImplementedError("the root must be rank 0")
    total, other = rank.scratch(rank.count), rank.scratch(rank.count)
    rank.copy(total, rank.input)
    distance = 1
    while distance < rank.p:
        if rank.id & distance:
            rank.send(rank.id - distance, total)
            return
        rank.recv(rank.id + distance, other)
        rank.reduce(total, other, other_first=False)
        distance *= 2
    rank.copy(rank.output, total)


def careless(rank):
    """A bcast that raises an exception for three or more ranks."""
    return [rank.recv, rank.send][rank.id](1 - rank.id, rank.output)


LIMIT = 3
