! A receive is started before its send exists; then the receiver waits in calls that end after the send only.
program partitioned_blocked
    use mpi_f08
    implicit none
    integer, parameter :: part = 524288
    integer(MPI_COUNT_KIND), parameter :: elements = part
    integer, asynchronous :: numbers(2 * part)
    integer :: rank, i, provided, call_number
    type(MPI_Group) :: all
    type(MPI_Comm) :: created
    type(MPI_Request) :: request
    type(MPI_Message) :: message
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_group(MPI_COMM_WORLD, all)
    do call_number = 1, 5
        numbers = 0
        if (rank == 1) then
            call MPI_Precv_init(numbers, 2, elements, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, request)
            call MPI_Start(request)
            call MPI_Send(i, 0, MPI_INTEGER, 0, 1, MPI_COMM_WORLD)
            call block()
        else
            call MPI_Recv(i, 0, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            call MPI_Psend_init(numbers, 2, elements, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, request)
            numbers = [(i, i = 1, 2 * part)]
            call MPI_Start(request)
            call MPI_Pready_range(0, 1, request)
        end if
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        if (rank == 0) call block()
        if (any(numbers /= [(i, i = 1, 2 * part)])) call MPI_Abort(MPI_COMM_WORLD, 1)
        call MPI_Request_free(request)
    end do
    if (rank == 1) print '(a)', "right"
    call MPI_Finalize()
contains
    subroutine block()
        select case (call_number)
        case (1)
            call MPI_Barrier(MPI_COMM_WORLD)
        case (2)
            if (rank == 0) then
                call MPI_Send(i, 0, MPI_INTEGER, 1, 2, MPI_COMM_WORLD)
            else
                call MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                call MPI_Recv(i, 0, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            end if
        case (3)
            call MPI_Comm_create_group(MPI_COMM_WORLD, all, 2, created)
            call MPI_Comm_free(created)
        case (4)
            call MPI_Comm_dup(MPI_COMM_WORLD, created)
            call MPI_Comm_free(created)
        case (5)
            if (rank == 0) then
                call MPI_Ssend(i, 0, MPI_INTEGER, 1, 2, MPI_COMM_WORLD)
            else
                call MPI_Mprobe(0, 2, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE)
                call MPI_Mrecv(i, 0, MPI_INTEGER, message, MPI_STATUS_IGNORE)
            end if
        end select
    end subroutine
end program
