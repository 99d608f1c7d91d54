! The calls of same_calls.c: with USE_F08 by mpi_f08, with USE_MPI by the older module, else by mpif.h; with LARGE
! (only with mpi_f08) their counts are of MPI_COUNT_KIND.
#ifdef USE_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#else
#define COMM integer
#define REQUEST integer
#endif
#ifdef LARGE
#define COUNTS integer(MPI_COUNT_KIND)
#define PLACES integer(MPI_ADDRESS_KIND)
#define N(count) int(count, MPI_COUNT_KIND)
#else
#define COUNTS integer
#define PLACES integer
#define N(count) count
#endif
program same_calls
#include "mpi_binding.h"
  integer :: rank, size, ierror, i, index
  integer :: sent(64), got(64)
  COUNTS :: counts_of_all(16)
  PLACES :: places_of_all(16)
  logical :: flag
  COMM :: half, copy
  REQUEST :: requests(2)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  sent = 0
  got = 0
  counts_of_all = 2
  places_of_all = [(2 * i, i = 0, 15)]
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Bcast(sent, N(5), MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(sent, got, N(7), MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, got, N(3), MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 1) then
    call MPI_Gather(MPI_IN_PLACE, N(0), MPI_DATATYPE_NULL, got, N(2), MPI_INTEGER, 1, &
      MPI_COMM_WORLD, ierror)
  else
    call MPI_Gather(sent, N(2), MPI_INTEGER, got, N(2), MPI_INTEGER, 1, &
      MPI_COMM_WORLD, ierror)
  end if
  call MPI_Alltoallv(sent, counts_of_all, places_of_all, MPI_INTEGER, got, counts_of_all, places_of_all, MPI_INTEGER, &
    MPI_COMM_WORLD, ierror)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierror)
  call MPI_Comm_set_name(half, 'half', ierror)
  call MPI_Reduce(sent, got, N(4), MPI_INTEGER, MPI_SUM, 0, half, ierror)
  call MPI_Comm_dup(half, copy, ierror)
  call MPI_Scan(sent, got, N(6), MPI_INTEGER, MPI_SUM, copy, ierror)
  call MPI_Iallreduce(sent, got, N(8), MPI_INTEGER, MPI_SUM, half, requests(1), ierror)
  call MPI_Ibarrier(copy, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call MPI_Ibcast(sent, N(9), MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierror)
  end do
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Waitany(1, requests, index, MPI_STATUS_IGNORE, ierror)
  call MPI_Comm_free(copy, ierror)
  call MPI_Comm_free(half, ierror)
  call MPI_Finalize(ierror)
end program
