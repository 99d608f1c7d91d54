"""Inspecting algorithms: listing them, drawing their messages, proving that they compute their collective.

An algorithm of your own is a function that is called once for each rank and describes what that rank does;
:class:`offbeat.Programs` holds the descriptions of all ranks::

    from offbeat import Programs, Rank

    def chain(rank: Rank) -> None:
        if rank.id > 0:
            rank.recv(rank.id - 1, rank.output)
        if rank.id < rank.p - 1:
            rank.send(rank.id + 1, rank.output)

    print(Programs("bcast", chain, p=8, root=0, count=100).check() or "right")

``offbeat algorithm check my_file.py:chain --collective bcast`` checks it for many p, roots and counts.
"""
