"""Statistics that every diagnosis shares: bootstrap intervals clustered by image."""

from vlmdx.stats.bootstrap import Interval, bootstrap_statistic, cluster_bootstrap, null_if_nan

__all__ = ["Interval", "bootstrap_statistic", "cluster_bootstrap", "null_if_nan"]
