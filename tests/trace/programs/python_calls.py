"""Which MPI library mpi4py runs with; calls what it does without where a library lacks it."""

from mpi4py import MPI

world = MPI.COMM_WORLD
buffer = bytearray(8)
world.Bcast([buffer, MPI.BYTE])
total = world.allreduce(1)
version = MPI.Get_library_version().splitlines()[0].partition(",")[0]
print(f"{version}: rank {world.rank} of {world.size}, sum {total}", flush=True)
