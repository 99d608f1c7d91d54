"""Prints the MPI library that mpi4py uses; calls the collectives that this library has."""

from mpi4py import MPI

world = MPI.COMM_WORLD
buffer = bytearray(8)
world.Bcast([buffer, MPI.BYTE])
total = world.allreduce(1)
version = MPI.Get_library_version().splitlines()[0].partition(",")[0]
print(f"{version}: rank {world.rank} of {world.size}, sum {total}", flush=True)
