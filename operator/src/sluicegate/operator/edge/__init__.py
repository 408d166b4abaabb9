"""Beside the gateway's workers in a cluster: brings plans and credentials in, takes acknowledgements and runs out."""
