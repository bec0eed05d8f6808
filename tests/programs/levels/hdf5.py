# SPDX-License-Identifier: MIT
"""hdf5.py FOLDER: a dataset written, and read whole and in part, by h5py; prints what it read."""

import sys, h5py, numpy
path = sys.argv[1] + "/py.h5"
with h5py.File(path, "w") as f:
    f["rows"] = numpy.arange(1000.0)
    f["rows"].attrs["version"] = 7
with h5py.File(path) as f:
    print(f["rows"][...].sum(), f["rows"][10:20].sum(), f["rows"].attrs["version"])
