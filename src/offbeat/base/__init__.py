"""What every package may use: errors, units, files, and work that survives a kill.

Offers: Errors with an exit status, units as people write them, the reading and atomic writing of files,
tables for the terminal, parts of documents, TOML files as structures, and campaigns.
Stands on: the standard library and the packages that it reads and writes with.
"""
