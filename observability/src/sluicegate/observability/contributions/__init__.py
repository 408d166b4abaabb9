"""What each component adds to the reward: Shapley values of ablated runs.

Value of a coalition: the mean reward when every player outside it is forced onto its declared fallback (the *fallback
game*). A coalition is a bit mask: bit i is set when player i runs. `coalitions` and `cells` are plain Python, for
gateways and folds; `exact`, `regression`, `estimate` and `variance` need numpy (the extra `evidence`).
"""
