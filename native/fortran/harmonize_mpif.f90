! SPDX-License-Identifier: BSD-3-Clause
! The harmonised start and the shared clock for programs that include mpif.h or `use mpi`: external subroutines.
! offbeat_harmonize.inc declares and documents them.

subroutine MPIX_Harmonize(comm, flag, ierror)
    use offbeat_harmonize_c, only: c_int, c_int64_t, c_harmonize
    implicit none
    integer, intent(in) :: comm
    logical, intent(out) :: flag
    integer, intent(out) :: ierror
    integer(c_int) :: on_time
    on_time = 0
    ierror = c_harmonize(int(comm, c_int64_t), on_time)
    flag = on_time /= 0
end subroutine

subroutine MPIX_Harmonize_delayed(comm, delay_ns, start, ierror)
    use offbeat_harmonize_c, only: c_int64_t, c_harmonize_delayed, offbeat_start
    implicit none
    integer, intent(in) :: comm
    integer(c_int64_t), intent(in) :: delay_ns
    integer(c_int64_t), intent(out) :: start(7)
    integer, intent(out) :: ierror
    type(offbeat_start) :: filled
    filled = offbeat_start(0, 0, 0, 0, 0, 0, 0)
    ierror = c_harmonize_delayed(int(comm, c_int64_t), delay_ns, filled)
    start = [filled%deadline_ns, filled%planned_ns, filled%margin_ns, filled%overshoot_ns, filled%bound_ns, &
             filled%slack_ns, int(filled%verdict, c_int64_t)]
end subroutine

subroutine MPIX_Harmonize_clock(comm, clock)
    use offbeat_harmonize_c, only: c_int64_t, c_harmonize_clock
    implicit none
    integer, intent(in) :: comm
    integer(c_int64_t), intent(out) :: clock
    clock = c_harmonize_clock(int(comm, c_int64_t))
end subroutine

subroutine offbeat_clock_create(comm, clock, ierror)
    use offbeat_harmonize_c, only: c_int64_t, c_clock_create
    implicit none
    integer, intent(in) :: comm
    integer(c_int64_t), intent(out) :: clock
    integer, intent(out) :: ierror
    ierror = c_clock_create(int(comm, c_int64_t), clock)
end subroutine

subroutine offbeat_clock_sync(clock, ierror)
    use offbeat_harmonize_c, only: c_int64_t, c_clock_sync
    implicit none
    integer(c_int64_t), intent(in) :: clock
    integer, intent(out) :: ierror
    ierror = c_clock_sync(clock)
end subroutine

subroutine offbeat_clock_free(clock, ierror)
    use offbeat_harmonize_c, only: c_int64_t, c_clock_free
    implicit none
    integer(c_int64_t), intent(inout) :: clock
    integer, intent(out) :: ierror
    ierror = c_clock_free(clock)
end subroutine

subroutine offbeat_clock_now(clock, global_ns, bound_ns)
    use offbeat_harmonize_c, only: c_int64_t, c_clock_at, c_clock_local_ns, offbeat_instant
    implicit none
    integer(c_int64_t), intent(in) :: clock
    integer(c_int64_t), intent(out) :: global_ns, bound_ns
    type(offbeat_instant) :: instant
    call c_clock_at(clock, c_clock_local_ns(clock), instant)
    global_ns = instant%global_ns
    bound_ns = instant%bound_ns
end subroutine

subroutine offbeat_clock_at(clock, local_ns, global_ns, bound_ns)
    use offbeat_harmonize_c, only: c_int64_t, c_clock_at, offbeat_instant
    implicit none
    integer(c_int64_t), intent(in) :: clock, local_ns
    integer(c_int64_t), intent(out) :: global_ns, bound_ns
    type(offbeat_instant) :: instant
    call c_clock_at(clock, local_ns, instant)
    global_ns = instant%global_ns
    bound_ns = instant%bound_ns
end subroutine

subroutine offbeat_clock_local(clock, local_ns)
    use offbeat_harmonize_c, only: c_int64_t, c_clock_local_ns
    implicit none
    integer(c_int64_t), intent(in) :: clock
    integer(c_int64_t), intent(out) :: local_ns
    local_ns = c_clock_local_ns(clock)
end subroutine
