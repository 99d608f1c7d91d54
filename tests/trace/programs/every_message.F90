! Point-to-point calls of two processes that do the same: with USE_F08 by mpi_f08, with USE_MPI by the older module,
! else by mpif.h; with LARGE (only with mpi_f08) their counts are of MPI_COUNT_KIND. Message k has k integers.
#ifdef USE_F08
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define STATUS type(MPI_Status)
#define STATUSES(n) type(MPI_Status) :: statuses(n)
#define SOURCE_OF(one) one%MPI_SOURCE
#define TAG_OF(one) one%MPI_TAG
#else
#define REQUEST integer
#define MESSAGE integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(n) integer :: statuses(MPI_STATUS_SIZE, n)
#define SOURCE_OF(one) one(MPI_SOURCE)
#define TAG_OF(one) one(MPI_TAG)
#endif
#ifdef LARGE
#define N(count) int(count, MPI_COUNT_KIND)
#else
#define N(count) count
#endif
program every_message
#include "mpi_binding.h"
  integer :: rank, other, ierror, k, index, done, way
  integer :: sent(64), got(64), indices(3)
  integer :: buffer(100000)
  logical :: flag
  REQUEST :: requests(3)
  MESSAGE :: message_found
  STATUS :: one
  STATUSES(3)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  other = 1 - rank
  sent = rank
  call MPI_Buffer_attach(buffer, 400000, ierror)
  call MPI_Pcontrol(2)
  do k = 1, 4
    call MPI_Irecv(got, N(64), MPI_INTEGER, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (k == 1) call MPI_Send(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, ierror)
    if (k == 2) call MPI_Bsend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, ierror)
    if (k == 3) call MPI_Ssend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, ierror)
    if (k == 4) call MPI_Rsend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, ierror)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  end do
  do k = 5, 8
    call MPI_Irecv(got, N(64), MPI_INTEGER, other, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (k == 5) call MPI_Isend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    if (k == 6) call MPI_Ibsend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    if (k == 7) call MPI_Issend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    if (k == 8) call MPI_Irsend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  end do
  do k = 9, 12
    if (k == 9) call MPI_Send_init(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    if (k == 10) call MPI_Bsend_init(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    if (k == 11) call MPI_Ssend_init(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    if (k == 12) call MPI_Rsend_init(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Recv_init(got, N(64), MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Start(requests(1), ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Startall(1, requests(2:2), ierror)
    call MPI_Waitall(2, requests, statuses, ierror)
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)
  end do
  k = 13
  call MPI_Isend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Recv(got, N(64), MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
  k = 14
  call MPI_Isend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Probe(MPI_ANY_SOURCE, k, MPI_COMM_WORLD, one, ierror)
  if (SOURCE_OF(one) /= other .or. TAG_OF(one) /= k) call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Iprobe(other, MPI_ANY_TAG, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
  end do
  call MPI_Recv(got, N(64), MPI_INTEGER, other, k, MPI_COMM_WORLD, one, ierror)
  if (SOURCE_OF(one) /= other .or. TAG_OF(one) /= k) call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
  call MPI_Wait(requests(2), one, ierror)
  k = 15
  call MPI_Isend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, message_found, MPI_STATUS_IGNORE, ierror)
  call MPI_Mrecv(got, N(64), MPI_INTEGER, message_found, MPI_STATUS_IGNORE, ierror)
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
  k = 16
  call MPI_Isend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Improbe(other, k, MPI_COMM_WORLD, flag, message_found, one, ierror)
  end do
  call MPI_Imrecv(got, N(64), MPI_INTEGER, message_found, requests(1), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  k = 17
  call MPI_Sendrecv(sent, N(k), MPI_INTEGER, other, k, &
    got, N(64), MPI_INTEGER, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  k = 18
  call MPI_Sendrecv_replace(got, N(k), MPI_INTEGER, other, k, other, MPI_ANY_TAG, MPI_COMM_WORLD, one, ierror)
  if (SOURCE_OF(one) /= other .or. TAG_OF(one) /= k) call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
  do way = 1, 6
    k = 18 + way
    call MPI_Irecv(got, N(64), MPI_INTEGER, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(sent, N(k), MPI_INTEGER, other, k, MPI_COMM_WORLD, requests(2), ierror)
    requests(3) = MPI_REQUEST_NULL
    done = 0
    do while (done < 2)
      flag = .false.
      index = 0
      if (way == 1) then
        call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE, ierror)
        done = done + 1
      else if (way == 2) then
        call MPI_Waitsome(3, requests, index, indices, MPI_STATUSES_IGNORE, ierror)
        done = done + index
      else if (way == 3) then
        call MPI_Test(requests(done + 1), flag, MPI_STATUS_IGNORE, ierror)
        if (flag) done = done + 1
      else if (way == 4) then
        call MPI_Testall(3, requests, flag, statuses, ierror)
        if (flag) done = 2
      else if (way == 5) then
        call MPI_Testany(3, requests, index, flag, one, ierror)
        if (flag) done = done + 1
      else
        call MPI_Testsome(3, requests, index, indices, statuses, ierror)
        done = done + index
      end if
    end do
  end do
  call MPI_Irecv(got, N(1), MPI_INTEGER, other, 7777, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Cancel(requests(1), ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  print *, k, ' messages'
end program
