"""The data plane: HTTP in, sticky arm, steps, component calls, mirrors, comparison, run recording."""
