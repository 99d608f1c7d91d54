"""Looking at algorithms: which there are, how their messages go, and that they compute their collective.

An algorithm of your own is a function that is called once for each rank and writes down what that rank does;
:class:`Programs` holds what it wrote for all of them::

    from offbeat.algorithm import Programs, Rank

    def chain(rank: Rank) -> None:
        if rank.id > 0:
            rank.recv(rank.id - 1, rank.output)
        if rank.id < rank.p - 1:
            rank.send(rank.id + 1, rank.output)

    print(Programs("bcast", chain, p=8, root=0, count=100).check() or "right")

``offbeat algorithm check my_file.py:chain --collective bcast`` checks it for many p, roots and counts.
"""

from offbeat._simulator import CompletionQueue, Programs, Rank, Request, Span, Vertex

__all__ = ["CompletionQueue", "Programs", "Rank", "Request", "Span", "Vertex"]
