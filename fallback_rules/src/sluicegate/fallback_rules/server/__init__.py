"""The rules server: a process of its own that answers from rule sets in files, with everything else down."""
