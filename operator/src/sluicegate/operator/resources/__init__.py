"""The resource store and its watches and events."""
