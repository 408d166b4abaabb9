"""The chart, rendered by Helm itself."""
