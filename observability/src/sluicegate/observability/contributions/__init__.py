"""What each component adds to the reward: Shapley values of ablated runs.

Value of a coalition: the mean reward when every player outside it is forced onto its declared fallback (the *fallback
game*), or runs in stable's version (the *version game*). A coalition is a bit mask: bit i is set when player i runs.
`coalitions`, `cells`, `outcomes`, `ablated` and `likeness` are plain Python, for gateways, folds and gates; `exact`,
`regression`, `estimate` and `variance` need numpy (the extra `evidence`).
"""
