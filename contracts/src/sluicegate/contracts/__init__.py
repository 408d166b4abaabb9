"""The vocabulary: resource models, stages, verdicts, evidence types, errors, and contract verification."""
