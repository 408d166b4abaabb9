"""Evidence mathematics and metrics: anytime-valid tests, folds over observations, the Prometheus exporter."""
