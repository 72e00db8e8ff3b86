"""Time of our corruptions against the `imagecorruptions` package, both in this run, on one core.

    python benchmarks/corruptions.py [WIDTH HEIGHT]

Prints milliseconds per image (mean over severities 1 to 5, best of three), the ratio package / ours for the ones that
are written anew, what the first blurs of a fresh process cost, and the peak memory of fog.
"""

import contextlib
import io
import subprocess
import sys
import time
import tracemalloc

import cv2
import imagecorruptions
import numpy as np
from scipy.ndimage import gaussian_filter
from vlmdx.corruptions import CORRUPTIONS, SEVERITIES, fast
from vlmdx.corruptions.apply import corrupt

FIRST = {
    "package": "import imagecorruptions as p; f = lambda x, name: p.corrupt(x, 1, name)",
    "ours": "from vlmdx.corruptions.apply import corrupt; f = lambda x, name: corrupt(x, name, 1, 0)",
}
CLOCK = """
import time, numpy as np
x = np.zeros((64, 64, 3), np.uint8)
start = time.perf_counter()
f(x, 'glass_blur'), f(x, 'zoom_blur')
print(time.perf_counter() - start)
"""


def picture(width: int, height: int) -> np.ndarray:
    """Smooth colours with noise on top: between a photo and the worst case."""
    rng = np.random.default_rng(0)
    smooth = np.stack([gaussian_filter(rng.normal(size=(height, width)), 8) for _ in range(3)], -1)
    noisy = 128 + 40 * smooth / smooth.std() + 10 * rng.normal(size=smooth.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def milliseconds(function) -> float:
    """Mean over the severities, best of three rounds, after one call that is not counted."""
    function(1)
    rounds = []
    for _ in range(3):
        start = time.perf_counter()
        for severity in SEVERITIES:
            function(severity)
        rounds.append(time.perf_counter() - start)
    return 1000 * min(rounds) / len(SEVERITIES)


def peak(function) -> float:
    """Peak MiB that NumPy allocates during a call."""
    tracemalloc.start()
    function()
    top = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return top / 2**20


def main() -> None:
    """Print the tables."""
    cv2.setNumThreads(1)
    width, height = map(int, sys.argv[1:3] or (640, 427))
    image = picture(width, height)
    totals = np.zeros(2)
    print(f"{width} x {height}, ms per image{'package':>15}{'ours':>9}{'ratio':>8}")
    for name in CORRUPTIONS:
        with contextlib.redirect_stdout(io.StringIO()):
            theirs = milliseconds(lambda severity, name=name: imagecorruptions.corrupt(image, severity, name))
        ours = milliseconds(lambda severity, name=name: corrupt(image, name, severity, 0))
        totals += theirs, ours
        ratio = f"{theirs / ours:8.1f}" if name in fast.FUNCTIONS else "       -"
        print(f"{name:<26}{theirs:15.1f}{ours:9.1f}{ratio}")
    print(f"{'all 19':<26}{totals[0]:15.1f}{totals[1]:9.1f}{totals[0] / totals[1]:8.1f}")

    first = {
        who: float(subprocess.run([sys.executable, "-c", text + CLOCK], capture_output=True, check=True).stdout)
        for who, text in FIRST.items()
    }
    print(f"\nfirst glass and zoom blur of a process, s{first['package']:8.2f}{first['ours']:8.2f}")
    for longest in (4096, 4097):
        strip = picture(100, longest)
        theirs = peak(lambda strip=strip: imagecorruptions.corrupt(strip, 3, "fog"))
        ours = peak(lambda strip=strip: corrupt(strip, "fog", 3, 0))
        print(f"peak of fog on {longest} x 100, MiB{theirs:9.0f}{ours:9.0f}{theirs / ours:8.1f}")


if __name__ == "__main__":
    main()
