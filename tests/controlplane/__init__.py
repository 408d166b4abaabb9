"""A real Kubernetes control plane on loopback: its programs, its processes, its users."""
