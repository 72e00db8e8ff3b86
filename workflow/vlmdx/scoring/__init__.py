"""Score items on their clean and corrupted images: one row per option, model and image version."""
