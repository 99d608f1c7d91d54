"""``python -m offbeat``."""

from offbeat.cli.app import main

main()
