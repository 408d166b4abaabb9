"""Process shells: resource store, keyed queue, executor, local API and the local runner."""
