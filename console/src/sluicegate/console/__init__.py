"""People: the command line, the demo, replay of recorded runs."""
