"""System B: a questioner that learns where a frozen answerer fails (arXiv 2604.04733)."""
