! SPDX-License-Identifier: BSD-3-Clause
!> Partitioned communication for programs that `use mpi_f08`.
!!
!! <offbeat/partitioned.h> describes the functions; here they have no statuses. The first request of a list has
!! the index 1, as in MPI. ierror is optional, as in all procedures of mpi_f08.
module offbeat_partitioned
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_loc
    use mpi_f08, only: MPI_Comm, MPI_Datatype, MPI_Info, MPI_COUNT_KIND
    use offbeat_partitioned_c
    implicit none
    private

    public :: offbeat_partitioned_attach, offbeat_partitioned_finalize, offbeat_psend_init, offbeat_precv_init
    public :: offbeat_pstart, offbeat_pstartall, offbeat_pready, offbeat_pready_range
    public :: offbeat_pready_list, offbeat_parrived, offbeat_ptest, offbeat_pwait
    public :: offbeat_pwaitall, offbeat_ptestall, offbeat_ptestany, offbeat_pwaitany, offbeat_ptestsome
    public :: offbeat_pwaitsome, offbeat_pcancel, offbeat_prequest_free

    !> A partitioned send or receive; a new one is null.
    type, public :: offbeat_prequest
        private
        integer(c_int64_t) :: address = 0
    end type

contains

    !> Prepares a communicator. Collective.
    subroutine offbeat_partitioned_attach(comm, info, ierror)
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Info), intent(in) :: info
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_attach(int(comm%MPI_VAL, c_int64_t), int(info%MPI_VAL, c_int64_t))
        if (present(ierror)) ierror = code
    end subroutine

    !> Ends the progress thread.
    subroutine offbeat_partitioned_finalize(ierror)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_partitioned_finalize()
        if (present(ierror)) ierror = code
    end subroutine

    !> Describes a send. The buffer is a contiguous array that exists until the request is freed.
    subroutine offbeat_psend_init(buffer, partitions, count, datatype, dest, tag, comm, info, request, ierror)
        type(*), dimension(*), target, asynchronous :: buffer
        integer, intent(in) :: partitions, dest, tag
        integer(MPI_COUNT_KIND), intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Info), intent(in) :: info
        type(offbeat_prequest), intent(out) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_psend_init(c_loc(buffer), partitions, int(count, c_int64_t), int(datatype%MPI_VAL, &
            c_int64_t), &
                             dest, tag, int(comm%MPI_VAL, c_int64_t), int(info%MPI_VAL, c_int64_t), &
                                 request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Describes a receive. The buffer is a contiguous array that exists until the request is freed.
    subroutine offbeat_precv_init(buffer, partitions, count, datatype, source, tag, comm, info, &
        request, ierror)
        type(*), dimension(*), target, asynchronous :: buffer
        integer, intent(in) :: partitions, source, tag
        integer(MPI_COUNT_KIND), intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Info), intent(in) :: info
        type(offbeat_prequest), intent(out) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_precv_init(c_loc(buffer), partitions, int(count, c_int64_t), int(datatype%MPI_VAL, &
            c_int64_t), &
                             source, tag, int(comm%MPI_VAL, c_int64_t), int(info%MPI_VAL, &
                                 c_int64_t), request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Starts an iteration.
    subroutine offbeat_pstart(request, ierror)
        type(offbeat_prequest), intent(inout) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pstart(request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Starts an iteration of each request.
    subroutine offbeat_pstartall(count, requests, ierror)
        integer, intent(in) :: count
        type(offbeat_prequest), intent(inout) :: requests(count)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pstartall(count, requests%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Marks a partition as ready; the first one is 0.
    subroutine offbeat_pready(partition, request, ierror)
        integer, intent(in) :: partition
        type(offbeat_prequest), intent(in) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pready(partition, request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Marks partitions as ready; the range includes both ends.
    subroutine offbeat_pready_range(partition_low, partition_high, request, ierror)
        integer, intent(in) :: partition_low, partition_high
        type(offbeat_prequest), intent(in) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pready_range(partition_low, partition_high, request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Marks the listed partitions as ready.
    subroutine offbeat_pready_list(length, partitions, request, ierror)
        integer, intent(in) :: length, partitions(length)
        type(offbeat_prequest), intent(in) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pready_list(length, partitions, request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Whether a partition of a receive arrived.
    subroutine offbeat_parrived(request, partition, flag, ierror)
        type(offbeat_prequest), intent(in) :: request
        integer, intent(in) :: partition
        logical, intent(out) :: flag
        integer(c_int) :: has_arrived
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_parrived(request%address, partition, has_arrived)
        flag = has_arrived /= 0
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes an iteration if that is possible now.
    subroutine offbeat_ptest(request, flag, ierror)
        type(offbeat_prequest), intent(inout) :: request
        logical, intent(out) :: flag
        integer(c_int) :: is_complete
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_ptest(request%address, is_complete)
        flag = is_complete /= 0
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes an iteration.
    subroutine offbeat_pwait(request, ierror)
        type(offbeat_prequest), intent(inout) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pwait(request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes an iteration of each request.
    subroutine offbeat_pwaitall(count, requests, ierror)
        integer, intent(in) :: count
        type(offbeat_prequest), intent(inout) :: requests(count)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pwaitall(count, requests%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes an iteration of each request if all can be completed now.
    subroutine offbeat_ptestall(count, requests, flag, ierror)
        integer, intent(in) :: count
        type(offbeat_prequest), intent(inout) :: requests(count)
        logical, intent(out) :: flag
        integer(c_int) :: is_complete
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_ptestall(count, requests%address, is_complete)
        flag = is_complete /= 0
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes one request if that is possible now; index: MPI_UNDEFINED if none is active.
    subroutine offbeat_ptestany(count, requests, index, flag, ierror)
        integer, intent(in) :: count
        type(offbeat_prequest), intent(inout) :: requests(count)
        integer, intent(out) :: index
        logical, intent(out) :: flag
        integer(c_int) :: is_complete
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_ptestany(count, requests%address, index, is_complete)
        flag = is_complete /= 0
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes one request; index: MPI_UNDEFINED if none is active.
    subroutine offbeat_pwaitany(count, requests, index, ierror)
        integer, intent(in) :: count
        type(offbeat_prequest), intent(inout) :: requests(count)
        integer, intent(out) :: index
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pwaitany(count, requests%address, index)
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes all requests that can be completed now; completed: MPI_UNDEFINED if none is active.
    subroutine offbeat_ptestsome(count, requests, completed, indices, ierror)
        integer, intent(in) :: count
        type(offbeat_prequest), intent(inout) :: requests(count)
        integer, intent(out) :: completed
        integer, intent(inout) :: indices(count)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_ptestsome(count, requests%address, completed, indices)
        if (present(ierror)) ierror = code
    end subroutine

    !> Completes one request or more; completed: MPI_UNDEFINED if none is active.
    subroutine offbeat_pwaitsome(count, requests, completed, indices, ierror)
        integer, intent(in) :: count
        type(offbeat_prequest), intent(inout) :: requests(count)
        integer, intent(out) :: completed
        integer, intent(inout) :: indices(count)
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pwaitsome(count, requests%address, completed, indices)
        if (present(ierror)) ierror = code
    end subroutine

    !> An error for an active request that is not complete, as in MPI; does nothing for others.
    subroutine offbeat_pcancel(request, ierror)
        type(offbeat_prequest), intent(inout) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_pcancel(request%address)
        if (present(ierror)) ierror = code
    end subroutine

    !> Frees an inactive request.
    subroutine offbeat_prequest_free(request, ierror)
        type(offbeat_prequest), intent(inout) :: request
        integer, optional, intent(out) :: ierror
        integer(c_int) :: code
        code = c_prequest_free(request%address)
        if (present(ierror)) ierror = code
    end subroutine

end module
