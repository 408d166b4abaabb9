"""How components are called: one file per protocol."""
