"""Business fallback: typed decision tables that are proved before they answer, and answer without anything else."""
