! Partitions arrive early, and the data is right; plain MPI 4.
program partitioned
    use mpi_f08
    use iso_fortran_env, only: int64
    implicit none
    integer, parameter :: partitions = 4, part = 262144
    integer(MPI_COUNT_KIND), parameter :: elements = part
    integer, asynchronous :: numbers(partitions * part)
    integer :: rank, i, arrived
    integer(int64) :: now, rate, ending
    logical :: flag
    type(MPI_Comm) :: comm
    type(MPI_Request) :: requests(1)
    type(MPI_Status) :: statuses(1)
    integer :: completed, indices(1)
    call MPI_Init()
    call MPI_Comm_split(MPI_COMM_WORLD, 0, 0, comm)
    call MPI_Comm_rank(comm, rank)
    numbers = 0
    arrived = 0
    if (rank == 0) then
        call MPI_Psend_init(numbers, partitions, elements, MPI_INTEGER, 1, 7, comm, MPI_INFO_NULL, requests(1))
    else
        call MPI_Precv_init(numbers, partitions, elements, MPI_INTEGER, 0, 7, comm, MPI_INFO_NULL, requests(1))
    end if
    call MPI_Startall(1, requests)
    if (rank == 0) then
        numbers = [(i, i = 1, partitions * part)]
        call MPI_Pready_range(0, partitions - 2, requests(1))
        call MPI_Recv(arrived, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Pready(partitions - 1, requests(1))
    else
        call system_clock(now, rate)
        ending = now + 2 * rate
        do while (arrived < partitions - 1 .and. now < ending)
            arrived = 0
            do i = 0, partitions - 1
                call MPI_Parrived(requests(1), i, flag)
                if (flag) arrived = arrived + 1
            end do
            call system_clock(now)
        end do
        call MPI_Send(arrived, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD)
    end if
    call MPI_Waitsome(1, requests, completed, indices, statuses)
    if (completed /= 1 .or. indices(1) /= 1) call MPI_Abort(MPI_COMM_WORLD, 1)
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
    call MPI_Waitany(1, requests, completed, MPI_STATUS_IGNORE)
    if (completed /= MPI_UNDEFINED) call MPI_Abort(MPI_COMM_WORLD, 1)
    call MPI_Request_free(requests(1))
    if (rank == 1) then
        if (any(numbers /= [(i, i = 1, partitions * part)]) .or. statuses(1)%MPI_SOURCE /= 0) call MPI_Abort(MPI_COMM_WORLD, 1)
        print '(i0, a)', arrived, " early right"
    end if
    call MPI_Finalize()
end program
