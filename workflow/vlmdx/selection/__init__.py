"""The diagnostic subset: questions whose answers waver under corruption, and that differ from each other.

Bench-C (arXiv 2511.19032) states the two steps, Gini impurity of the answer trajectory and greedy selection for
semantic diversity; the formulas are ours and stand with the functions.
"""
