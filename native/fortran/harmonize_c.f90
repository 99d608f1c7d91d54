! SPDX-License-Identifier: BSD-3-Clause
!> Interfaces of the C functions in fortran/handles.h, and the structures that they fill.
module offbeat_harmonize_c
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
    implicit none

    !> One start of this process; times in nanoseconds.
    type, bind(C) :: offbeat_start
        integer(c_int64_t) :: deadline_ns, planned_ns, margin_ns, overshoot_ns, bound_ns, slack_ns
        integer(c_int) :: verdict
    end type

    !> A time on the shared clock and the bound of its error, in nanoseconds.
    type, bind(C) :: offbeat_instant
        integer(c_int64_t) :: global_ns, bound_ns
    end type

    interface
        function c_harmonize(comm, flag) bind(C, name="offbeat_fortran_harmonize") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: comm
            integer(c_int) :: flag, code
        end function
        function c_harmonize_delayed(comm, delay_ns, start) bind(C, name="offbeat_fortran_harmonize_delayed") &
            result(code)
            import :: c_int, c_int64_t, offbeat_start
            integer(c_int64_t), value :: comm, delay_ns
            type(offbeat_start) :: start
            integer(c_int) :: code
        end function
        function c_harmonize_clock(comm) bind(C, name="offbeat_fortran_harmonize_clock") result(clock)
            import :: c_int64_t
            integer(c_int64_t), value :: comm
            integer(c_int64_t) :: clock
        end function
        function c_clock_create(comm, clock) bind(C, name="offbeat_fortran_clock_create") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: comm
            integer(c_int64_t) :: clock
            integer(c_int) :: code
        end function
        function c_clock_sync(clock) bind(C, name="offbeat_fortran_clock_sync") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: clock
            integer(c_int) :: code
        end function
        function c_clock_free(clock) bind(C, name="offbeat_fortran_clock_free") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t) :: clock
            integer(c_int) :: code
        end function
        subroutine c_clock_at(clock, local_ns, instant) bind(C, name="offbeat_fortran_clock_at")
            import :: c_int64_t, offbeat_instant
            integer(c_int64_t), value :: clock, local_ns
            type(offbeat_instant) :: instant
        end subroutine
        function c_clock_local_ns(clock) bind(C, name="offbeat_fortran_clock_local_ns") result(local_ns)
            import :: c_int64_t
            integer(c_int64_t), value :: clock
            integer(c_int64_t) :: local_ns
        end function
        function c_clock_to_local_ns(clock, global_ns) bind(C, name="offbeat_fortran_clock_to_local_ns") &
            result(local_ns)
            import :: c_int64_t
            integer(c_int64_t), value :: clock, global_ns
            integer(c_int64_t) :: local_ns
        end function
        function c_clock_is_shared(clock) bind(C, name="offbeat_fortran_clock_is_shared") result(shared)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: clock
            integer(c_int) :: shared
        end function
    end interface
end module
