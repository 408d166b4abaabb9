"""The local API: kube-shaped REST on a Unix socket."""
