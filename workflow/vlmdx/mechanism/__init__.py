"""Where inside the model an operation fails: causal interventions on grounded image tokens (arXiv 2607.16094)."""
