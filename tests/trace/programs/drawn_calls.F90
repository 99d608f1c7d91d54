! Calls of MPI that are drawn from a seed, the same on all processes: `drawn_calls SEED CALLS END`, where END is
! finalize, abort or exit. With USE_F08 by mpi_f08, with USE_MPI by the older module, else by mpif.h. Each process
! prints a checksum of what it received.
#ifdef USE_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define STATUSES(n) type(MPI_Status) :: statuses(n)
#define STATUS_OF(i) statuses(i)
#else
#define COMM integer
#define REQUEST integer
#define STATUSES(n) integer :: statuses(MPI_STATUS_SIZE, n)
#define STATUS_OF(i) statuses(:, i)
#endif
program drawn_calls
#include "mpi_binding.h"
  integer, parameter :: long = selected_int_kind(18)
  integer(long) :: state, checksum
  integer :: seed, calls, rank, size, ierror, provided, i
  character(len=16) :: word, ending

  call get_command_argument(1, word)
  read (word, *) seed
  call get_command_argument(2, word)
  read (word, *) calls
  call get_command_argument(3, ending)
  state = seed
  checksum = 0
  if (draw(2) == 0) then
    call MPI_Init(ierror)
  else
    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  end if
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  do i = 1, calls
    select case (draw(20))
    case (0:8)
      call make_collective()
    case (9:16)
      call exchange()
    case (17:18)
      call use_communicator()
    case default
      call MPI_Pcontrol(7)
    end select
  end do
  write (*, '(a, i0, a, i0)') 'rank ', rank, ': checksum ', checksum
  flush (6)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (ending == 'abort') call MPI_Abort(MPI_COMM_WORLD, 5, ierror)
  if (ending == 'exit') stop 6
  call MPI_Finalize(ierror)

contains

  integer function draw(below)
    integer, intent(in) :: below
    state = iand(state * 1103515245_long + 12345_long, 2147483647_long)
    draw = int(mod(state / 65536_long, int(below, long)))
  end function draw

  subroutine add(values)
    integer, intent(in) :: values(:)
    integer :: k
    do k = 1, ubound(values, 1)
      checksum = mod(checksum * 31 + values(k), 1000000007_long)
    end do
  end subroutine add

  subroutine make_collective()
    integer :: mine(48), others(48), k
    REQUEST :: requests(1)
    others = 0
    do k = 1, 48
      mine(k) = rank + draw(100)
    end do
    select case (draw(10))
    case (0)
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
    case (1)
      call MPI_Bcast(mine, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call add(mine(:3))
    case (2)
      call MPI_Reduce(mine, others, 3, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    case (3)
      call MPI_Allreduce(mine, others, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    case (4)
      call MPI_Allreduce(MPI_IN_PLACE, mine, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
      call add(mine(:3))
    case (5)
      call MPI_Allgather(mine, 3, MPI_INTEGER, others, 3, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    case (6)
      call MPI_Alltoall(mine, 3, MPI_INTEGER, others, 3, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    case (7)
      call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
    case (8)
      call MPI_Iallreduce(mine, others, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE, ierror)
    case default
      call MPI_Scan(mine, others, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    end select
    call add(others)
  end subroutine make_collective

  ! A message to the next process in a ring, and one from the process before.
  subroutine exchange()
    integer :: sent(3), received(3), next, last, tag, kind, index
    REQUEST :: requests(2)
    STATUSES(2)
    next = mod(rank + 1, size)
    last = mod(rank + size - 1, size)
    tag = draw(9)
    kind = draw(6)
    sent = [rank, tag, kind]
    received = 0
    if (kind == 0) then
      call MPI_Sendrecv(sent, 3, MPI_INTEGER, next, tag, received, 3, MPI_INTEGER, last, tag, MPI_COMM_WORLD, &
        STATUS_OF(1), ierror)
    else if (kind <= 3) then
      call MPI_Irecv(received, 3, MPI_INTEGER, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Isend(sent, 3, MPI_INTEGER, next, tag, MPI_COMM_WORLD, requests(2), ierror)
      select case (kind)
      case (1)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
      case (2)
        call MPI_Waitall(2, requests, statuses, ierror)
      case default
        call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, ierror)
        call MPI_Waitany(2, requests, index, STATUS_OF(1), ierror)
      end select
    else
      call MPI_Isend(sent, 3, MPI_INTEGER, next, tag, MPI_COMM_WORLD, requests(1), ierror)
      if (kind == 4) then
        call MPI_Recv(received, 3, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      else
        call MPI_Probe(last, tag, MPI_COMM_WORLD, STATUS_OF(1), ierror)
        call MPI_Recv(received, 3, MPI_INTEGER, last, tag, MPI_COMM_WORLD, STATUS_OF(2), ierror)
      end if
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
    end if
    call add(received)
  end subroutine exchange

  subroutine use_communicator()
    COMM :: made
    integer :: members
    if (draw(2) == 0) then
      call MPI_Comm_dup(MPI_COMM_WORLD, made, ierror)
    else
      call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, made, ierror)
    end if
    call MPI_Comm_size(made, members, ierror)
    call MPI_Barrier(made, ierror)
    call MPI_Comm_free(made, ierror)
    call add([members])
  end subroutine use_communicator
end program drawn_calls
