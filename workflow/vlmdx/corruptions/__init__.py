"""Nineteen single-factor corruptions in five severities, as ImageNet-C defines them, made reproducible.

Names are those of the ``imagecorruptions`` package (Michaelis et al., arXiv 1907.07484), the numbers behind them those
of ImageNet-C (Hendrycks & Dietterich, arXiv 1903.12261, section 3 and appendix). The five families are ours: Bench-C
(arXiv 2511.19032) states that there are five and does not print the table.

This module holds names only, so that a workflow can be planned without importing OpenCV; the pixels are made in
:mod:`vlmdx.corruptions.apply`, the shards in :mod:`vlmdx.corruptions.shards`.
"""

FAMILIES: dict[str, tuple[str, ...]] = {
    "photometric": ("brightness", "contrast", "saturate"),
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"),
    "weather": ("snow", "frost", "fog", "spatter"),
    "digital": ("elastic_transform", "pixelate", "jpeg_compression"),
}
CORRUPTIONS: tuple[str, ...] = tuple(name for names in FAMILIES.values() for name in names)
SEVERITIES: tuple[int, ...] = (1, 2, 3, 4, 5)
CLEAN = "clean"
# The ones that draw; the other eight are the same whatever the seed, and their seed column is NULL.
RANDOM = frozenset(
    (*FAMILIES["noise"], *FAMILIES["weather"], "glass_blur", "motion_blur", "elastic_transform"),
)
