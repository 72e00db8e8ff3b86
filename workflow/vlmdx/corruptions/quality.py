"""How much of the image a corruption left: PSNR and SSIM, so that severities can be compared across resolutions."""

import cv2
import numpy as np
from skimage.metrics import structural_similarity


def psnr(clean: np.ndarray, corrupted: np.ndarray) -> float | None:
    """Peak signal-to-noise ratio over all three channels, in dB against a peak of 255; None where nothing changed."""
    error = clean.astype(np.float32) - corrupted
    mse = float(np.mean(np.square(error), dtype=np.float64))
    return 10 * float(np.log10(255**2 / mse)) if mse else None


def luma(rgb: np.ndarray) -> np.ndarray:
    """BT.601 luma of a uint8 RGB image, float32 [height, width] in [0, 255]."""
    return cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)


def ssim(clean_luma: np.ndarray, corrupted_luma: np.ndarray) -> float:
    """Mean structural similarity of two :func:`luma` images (Wang et al. 2004, K1 = .01, K2 = .03).

    On luma as in that paper, with scikit-image's 7 x 7 uniform window; sides of at least 7 px.
    """
    return float(structural_similarity(clean_luma, corrupted_luma, data_range=255, win_size=7, gaussian_weights=False))
