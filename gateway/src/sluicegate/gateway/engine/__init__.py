"""The run of a workflow: steps, calls, degradation."""
