"""The one place that touches the host's clock and randomness."""
