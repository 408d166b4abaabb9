"""HTTP clients of the data plane, one file per library."""
