"""Who may write what: one table, asked of every layer."""
