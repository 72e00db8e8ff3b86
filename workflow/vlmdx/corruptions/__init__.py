"""Nineteen single-factor corruptions in five severities, as ImageNet-C defines them, made reproducible.

Names are those of the ``imagecorruptions`` package (Michaelis et al., arXiv 1907.07484), the numbers behind them those
of ImageNet-C (Hendrycks & Dietterich, arXiv 1903.12261). The pixels are made in :mod:`vlmdx.corruptions.apply`, the
shards in :mod:`vlmdx.corruptions.shards`; nothing heavy is imported here.
"""

from vlmdx.schema.names import CLEAN, CORRUPTIONS, FAMILIES

SEVERITIES: tuple[int, ...] = (1, 2, 3, 4, 5)
# The ones that draw; the other eight are the same whatever the seed, and their seed column is NULL.
RANDOM = frozenset((*FAMILIES["noise"], *FAMILIES["weather"], "glass_blur", "motion_blur", "elastic_transform"))

__all__ = ["CLEAN", "CORRUPTIONS", "FAMILIES", "RANDOM", "SEVERITIES"]
