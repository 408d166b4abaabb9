"""Adapters and shells of cluster mode."""
