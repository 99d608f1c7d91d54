"""``python -m offbeat``."""

from offbeat.cli.app import main

if __name__ == "__main__":  # and not where MPI's workers look at it
    main()
