"""Load on a live component or workflow: who arrives when with what, sent by a process of its own, judged while it runs.

inputs → schedule → process ⇄ driver (locust) → target (what an answer means) → ledger (in order of arrival) → judging.
"""
