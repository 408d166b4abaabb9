"""The gate of contracts in CI: what is checked, what a finding does to the build, what is let through, and how it is told.

read (files, git) → check or compare → settle (waivers, baseline) → Report → formats.
"""
