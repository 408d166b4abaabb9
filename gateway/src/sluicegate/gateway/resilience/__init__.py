"""Retry budgets and circuit breakers: pure state, time is a parameter."""
