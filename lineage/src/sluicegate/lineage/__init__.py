"""Run records: spool, ingester, SQLite store, evidence sequence, retention, redaction."""
