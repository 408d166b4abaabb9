"""`sluicegate demo`: a good candidate is promoted, a bad one aborted, before the user's eyes."""
