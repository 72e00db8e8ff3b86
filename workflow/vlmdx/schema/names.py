"""Names that several rooms and the config share, free of heavy imports."""

# The 19 corruptions of `imagecorruptions` (ImageNet-C convention; Bench-C, section 3) in five families (ours: the
# paper names the families, not their members). A family is a shard: one file, one job.
FAMILIES: dict[str, tuple[str, ...]] = {
    "photometric": ("brightness", "contrast", "saturate"),
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"),
    "weather": ("snow", "frost", "fog", "spatter"),
    "digital": ("elastic_transform", "pixelate", "jpeg_compression"),
}
CORRUPTIONS: tuple[str, ...] = tuple(name for names in FAMILIES.values() for name in names)
CLEAN = "clean"  # family and corruption name of severity 0
