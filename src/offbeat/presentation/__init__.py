"""What people look at: pages, pictures, and the figures of papers.

Offers: Pages with their pictures, pictures as files, the tables of a selection, the report of a study, and
reproductions.
Stands on: every package above which it stands; only ``api`` and ``cli`` import it.
"""
