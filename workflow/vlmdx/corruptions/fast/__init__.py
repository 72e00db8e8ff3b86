"""Nine corruptions of the ``imagecorruptions`` package written anew: the same pixels on the same draws, but

- ``glass_blur`` without a loop, and without 2 s of compiling before the first picture of each process;
- ``zoom_blur`` in one compiled pass per enlargement, where the package interpolates across channels as well;
- ``elastic_transform`` per channel, for the same reason;
- ``motion_blur`` and ``snow`` by slices of one padded copy, where the package rolls the picture up to 41 times;
- ``brightness`` and ``saturate`` without the six candidate pictures that scikit-image builds to pick pixels from;
- ``frost`` with its textures decoded once;
- ``fog`` in memory of 4 n^2 bytes plus what the picture needs, n being the power of two at or above the longest side
  (4096 -> 64 MiB, 4097 -> 256 MiB, a third of what the package takes).

Where the package is wrong we differ, and only there:

- ``zoom_blur`` and ``snow``: at some sizes (36, 71, 78, 87 ... px) a rounding error puts the last row or column of a
  zoom layer outside the picture, where it is read as black; here the edge is continued.
- ``motion_blur``: on pictures narrower than the kernel the package drops the kernel's tail and darkens the picture;
  here the edge is continued.
- ``spatter`` (guarded in :mod:`vlmdx.corruptions.apply`): where no drop falls the package divides 0 by 0 and returns a
  black picture.

Every function takes uint8 [height, width, 3], a severity and a generator, and returns float [height, width, 3] in
[0, 255], as the package's do. Constants are the package's, one entry per severity.
"""

from vlmdx.corruptions.fast.blur import glass_blur, motion_blur, zoom_blur
from vlmdx.corruptions.fast.colour import brightness, saturate
from vlmdx.corruptions.fast.elastic import elastic_transform
from vlmdx.corruptions.fast.weather import fog, frost, snow

FUNCTIONS = {
    function.__name__: function
    for function in (
        brightness,
        elastic_transform,
        fog,
        frost,
        glass_blur,
        motion_blur,
        saturate,
        snow,
        zoom_blur,
    )
}
