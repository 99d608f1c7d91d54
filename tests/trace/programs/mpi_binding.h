! The interface of MPI by which a program calls: mpi_f08 with USE_F08, the older module with USE_MPI, else mpif.h.
#ifdef USE_F08
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#if !defined(USE_F08) && !defined(USE_MPI)
  include 'mpif.h'
#endif
