"""The lineage process of a cluster: takes the runs of gateways in, folds evidence, answers for people."""
