"""From published files to the item, image and rejected tables: one importer per file, one driver for all of them.

An importer is a module of this folder with a generator ``read(...)`` whose keyword arguments are its settings. It
yields one record per row of its source (``records.py``); everything that is the same for all data sets (decoding,
boxes, ids, accounting) is the driver's (``driver.py``).
"""
