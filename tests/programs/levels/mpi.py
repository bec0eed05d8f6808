# SPDX-License-Identifier: MIT
"""mpi.py FOLDER: MPI-IO by mpi4py, each rank its part of a file, and the next one's read; prints what it read."""

import sys
from mpi4py import MPI
import numpy
world = MPI.COMM_WORLD
mine, back = numpy.full(256, world.rank, "i4"), numpy.empty(256, "i4")
file = MPI.File.Open(world, sys.argv[1] + "/py.dat", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at(world.rank * 1024, mine)
file.Sync()
world.Barrier()
file.Read_at((world.rank + 1) % world.size * 1024, back)
file.Close()
total = world.reduce(int(back.sum()))
if world.rank == 0:
    print(total)
