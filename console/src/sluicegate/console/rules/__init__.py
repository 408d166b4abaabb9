"""Rule sets at a terminal: reading of files and inputs, and what is said about tables."""
