"""Pure decisions: reconcile and admit, the stage table, gates, routing plan, approvals, lint, backtest."""
