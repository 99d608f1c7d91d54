! Calls every procedure of the module for mpi_f08.
program from_f08
    use, intrinsic :: iso_fortran_env, only: int64
    use mpi_f08
    use offbeat_harmonize
    implicit none
    integer :: rank, ierror
    integer(int64) :: stamp
    logical :: flag
    type(offbeat_start) :: start
    type(offbeat_clock) :: clock, own
    type(offbeat_instant) :: now, earlier
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    clock = MPIX_Harmonize_clock(MPI_COMM_WORLD)
    if (offbeat_clock_exists(clock)) error stop "a clock before the first start"
    call MPIX_Harmonize(MPI_COMM_WORLD, flag)
    call MPIX_Harmonize(MPI_COMM_WORLD, flag, ierror)
    if (ierror /= MPI_SUCCESS) error stop "MPIX_Harmonize failed"
    call MPIX_Harmonize_delayed(MPI_COMM_WORLD, 1000_int64 * rank, start)
    clock = MPIX_Harmonize_clock(MPI_COMM_WORLD)
    if (.not. offbeat_clock_exists(clock)) error stop "no clock after a start"
    now = offbeat_clock_now(clock)

    call offbeat_clock_create(MPI_COMM_WORLD, own, ierror)
    if (ierror /= MPI_SUCCESS) error stop "offbeat_clock_create failed"
    call offbeat_clock_sync(own)
    stamp = offbeat_clock_local_ns(own)
    earlier = offbeat_clock_at(own, stamp)
    if (abs(offbeat_clock_to_local_ns(own, earlier%global_ns) - stamp) > 1) error stop "conversions differ"
    if (earlier%global_ns > now%global_ns + 3600000000000_int64) error stop "clocks differ"
    if (rank == 0 .and. .not. offbeat_clock_is_shared(own)) error stop "rank 0 does not read its own clock"
    call offbeat_clock_free(own)
    if (offbeat_clock_exists(own)) error stop "a clock that was freed exists"

    print '(a,i0,a,a,a,i0,a,a,a,a)', "rank ", rank, ": flag ", trim(merge("known", "wrong", flag .or. .not. flag)), &
        ", waits ", start%planned_ns - start%deadline_ns, " ns, left ", &
        trim(merge("after it ", "before it", now%global_ns >= start%planned_ns)), ", bound ", &
        trim(merge("known", "wrong", now%bound_ns >= 0))
    call MPI_Finalize()
end program
