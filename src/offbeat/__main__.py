"""``python -m offbeat``."""

from offbeat.cli.app import main

if __name__ == "__main__":  # not when mpi4py workers import this module
    main()
