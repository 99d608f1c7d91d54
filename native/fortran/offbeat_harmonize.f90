! SPDX-License-Identifier: BSD-3-Clause
!> The harmonised start and the shared clock for programs that `use mpi_f08`.
!!
!! The interface of <offbeat/harmonize.h> and <offbeat/clock.h>, which document it. Times are integer(int64), in
!! nanoseconds; ierror is optional, as in all procedures of mpi_f08.
module offbeat_harmonize
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
    use mpi_f08, only: MPI_Comm
    use offbeat_harmonize_c
    implicit none
    private

    public :: offbeat_start, offbeat_instant
    public :: MPIX_Harmonize, MPIX_Harmonize_delayed, MPIX_Harmonize_clock
    public :: offbeat_clock_create, offbeat_clock_sync, offbeat_clock_free
    public :: offbeat_clock_now, offbeat_clock_at, offbeat_clock_local_ns, offbeat_clock_to_local_ns
    public :: offbeat_clock_is_shared, offbeat_clock_exists

    !> Verdicts: whether this process started on time, and if not, why.
    integer, parameter, public :: OFFBEAT_ON_TIME = 0, OFFBEAT_CAME_LATE = 1, OFFBEAT_LOST_CORE = 2

    !> A shared clock.
    type, public :: offbeat_clock
        private
        integer(c_int64_t) :: address = 0
    end type

contains

    !> Returns on all processes at the same time; flag is true when this process left on time.
    subroutine MPIX_Harmonize(comm, flag, ierror)
        type(MPI_Comm), intent(in) :: comm
        logical, intent(out) :: flag
        integer, optional, intent(out) :: ierror
        integer(c_int) :: on_time, code
        on_time = 0
        code = c_harmonize(int(comm%MPI_VAL, c_int64_t), on_time)
        flag = on_time /= 0
        if (present(ierror)) ierror = code
    end subroutine

    !> Like MPIX_Harmonize, with a delay for each process and a full record of the start.
    subroutine MPIX_Harmonize_delayed(comm, delay_ns, start, ierror)
        type(MPI_Comm), intent(in) :: comm
        integer(c_int64_t), intent(in) :: delay_ns
        type(offbeat_start), intent(out) :: start
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_harmonize_delayed(int(comm%MPI_VAL, c_int64_t), delay_ns, start)
        if (present(ierror)) ierror = code
    end subroutine

    !> The clock that MPIX_Harmonize uses; offbeat_clock_exists is false when there is none. It must not be freed.
    function MPIX_Harmonize_clock(comm) result(clock)
        type(MPI_Comm), intent(in) :: comm
        type(offbeat_clock) :: clock
        clock%address = c_harmonize_clock(int(comm%MPI_VAL, c_int64_t))
    end function

    !> Creates a clock and synchronises it. Collective.
    subroutine offbeat_clock_create(comm, clock, ierror)
        type(MPI_Comm), intent(in) :: comm
        type(offbeat_clock), intent(out) :: clock
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_clock_create(int(comm%MPI_VAL, c_int64_t), clock%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Synchronises the clock again. Collective.
    subroutine offbeat_clock_sync(clock, ierror)
        type(offbeat_clock), intent(in) :: clock
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_clock_sync(clock%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Frees a clock that was created by offbeat_clock_create. Collective.
    subroutine offbeat_clock_free(clock, ierror)
        type(offbeat_clock), intent(inout) :: clock
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_clock_free(clock%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> The current shared time.
    function offbeat_clock_now(clock) result(instant)
        type(offbeat_clock), intent(in) :: clock
        type(offbeat_instant) :: instant
        call c_clock_at(clock%address, c_clock_local_ns(clock%address), instant)
    end function

    !> Converts a local timestamp, which may be an earlier one, to the shared clock.
    function offbeat_clock_at(clock, local_ns) result(instant)
        type(offbeat_clock), intent(in) :: clock
        integer(c_int64_t), intent(in) :: local_ns
        type(offbeat_instant) :: instant
        call c_clock_at(clock%address, local_ns, instant)
    end function

    !> The current local timestamp.
    function offbeat_clock_local_ns(clock) result(local_ns)
        type(offbeat_clock), intent(in) :: clock
        integer(c_int64_t) :: local_ns
        local_ns = c_clock_local_ns(clock%address)
    end function

    !> Converts a time on the shared clock to this process's local clock.
    function offbeat_clock_to_local_ns(clock, global_ns) result(local_ns)
        type(offbeat_clock), intent(in) :: clock
        integer(c_int64_t), intent(in) :: global_ns
        integer(c_int64_t) :: local_ns
        local_ns = c_clock_to_local_ns(clock%address, global_ns)
    end function

    !> Whether this process was verified to read the same physical clock as rank 0.
    function offbeat_clock_is_shared(clock) result(shared)
        type(offbeat_clock), intent(in) :: clock
        logical :: shared
        shared = c_clock_is_shared(clock%address) /= 0
    end function

    !> Whether the clock exists.
    function offbeat_clock_exists(clock) result(exists)
        type(offbeat_clock), intent(in) :: clock
        logical :: exists
        exists = clock%address /= 0
    end function

end module
