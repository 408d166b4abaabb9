"""The process shell of local mode: what `sluicegate up` runs."""
