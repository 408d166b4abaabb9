"""The control loop: keyed queue, gather, decide, apply, report."""
