! SPDX-License-Identifier: BSD-3-Clause
! Partitioned communication for programs that include mpif.h or `use mpi`: external subroutines.
! offbeat_partitioned.inc declares and documents them.

subroutine offbeat_partitioned_attach(comm, info, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_attach
    implicit none
    integer, intent(in) :: comm, info
    integer, intent(out) :: ierror
    ierror = c_attach(int(comm, c_int64_t), int(info, c_int64_t))
end subroutine

subroutine offbeat_partitioned_finalize(ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_partitioned_finalize
    implicit none
    integer, intent(out) :: ierror
    ierror = c_partitioned_finalize()
end subroutine

subroutine offbeat_psend_init(buffer, partitions, count, datatype, dest, tag, comm, info, request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_psend_init
    implicit none
    integer(c_int8_t), target, asynchronous :: buffer(*)
    integer, intent(in) :: partitions, datatype, dest, tag, comm, info
    integer(c_int64_t), intent(in) :: count
    integer(c_int64_t), intent(out) :: request
    integer, intent(out) :: ierror
    ierror = c_psend_init(c_loc(buffer), partitions, count, int(datatype, c_int64_t), dest, tag, &
                           int(comm, c_int64_t), int(info, c_int64_t), request)
end subroutine

subroutine offbeat_precv_init(buffer, partitions, count, datatype, source, tag, comm, info, request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_precv_init
    implicit none
    integer(c_int8_t), target, asynchronous :: buffer(*)
    integer, intent(in) :: partitions, datatype, source, tag, comm, info
    integer(c_int64_t), intent(in) :: count
    integer(c_int64_t), intent(out) :: request
    integer, intent(out) :: ierror
    ierror = c_precv_init(c_loc(buffer), partitions, count, int(datatype, c_int64_t), source, tag, &
                           int(comm, c_int64_t), int(info, c_int64_t), request)
end subroutine

subroutine offbeat_pstart(request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pstart
    implicit none
    integer(c_int64_t), intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_pstart(request)
end subroutine

subroutine offbeat_pstartall(count, requests, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pstartall
    implicit none
    integer, intent(in) :: count
    integer(c_int64_t), intent(inout) :: requests(*)
    integer, intent(out) :: ierror
    ierror = c_pstartall(count, requests)
end subroutine

subroutine offbeat_pready(partition, request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pready
    implicit none
    integer, intent(in) :: partition
    integer(c_int64_t), intent(in) :: request
    integer, intent(out) :: ierror
    ierror = c_pready(partition, request)
end subroutine

subroutine offbeat_pready_range(partition_low, partition_high, request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pready_range
    implicit none
    integer, intent(in) :: partition_low, partition_high
    integer(c_int64_t), intent(in) :: request
    integer, intent(out) :: ierror
    ierror = c_pready_range(partition_low, partition_high, request)
end subroutine

subroutine offbeat_pready_list(length, partitions, request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pready_list
    implicit none
    integer, intent(in) :: length, partitions(*)
    integer(c_int64_t), intent(in) :: request
    integer, intent(out) :: ierror
    ierror = c_pready_list(length, partitions, request)
end subroutine

subroutine offbeat_parrived(request, partition, flag, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_parrived
    implicit none
    integer(c_int64_t), intent(in) :: request
    integer, intent(in) :: partition
    logical, intent(out) :: flag
    integer(c_int) :: has_arrived
    integer, intent(out) :: ierror
    ierror = c_parrived(request, partition, has_arrived)
    flag = has_arrived /= 0
end subroutine

subroutine offbeat_ptest(request, flag, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_ptest
    implicit none
    integer(c_int64_t), intent(inout) :: request
    logical, intent(out) :: flag
    integer(c_int) :: is_complete
    integer, intent(out) :: ierror
    ierror = c_ptest(request, is_complete)
    flag = is_complete /= 0
end subroutine

subroutine offbeat_pwait(request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pwait
    implicit none
    integer(c_int64_t), intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_pwait(request)
end subroutine

subroutine offbeat_pwaitall(count, requests, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pwaitall
    implicit none
    integer, intent(in) :: count
    integer(c_int64_t), intent(inout) :: requests(*)
    integer, intent(out) :: ierror
    ierror = c_pwaitall(count, requests)
end subroutine

subroutine offbeat_ptestall(count, requests, flag, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_ptestall
    implicit none
    integer, intent(in) :: count
    integer(c_int64_t), intent(inout) :: requests(*)
    logical, intent(out) :: flag
    integer(c_int) :: is_complete
    integer, intent(out) :: ierror
    ierror = c_ptestall(count, requests, is_complete)
    flag = is_complete /= 0
end subroutine

subroutine offbeat_ptestany(count, requests, index, flag, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_ptestany
    implicit none
    integer, intent(in) :: count
    integer(c_int64_t), intent(inout) :: requests(*)
    integer, intent(out) :: index
    logical, intent(out) :: flag
    integer(c_int) :: is_complete
    integer, intent(out) :: ierror
    ierror = c_ptestany(count, requests, index, is_complete)
    flag = is_complete /= 0
end subroutine

subroutine offbeat_pwaitany(count, requests, index, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pwaitany
    implicit none
    integer, intent(in) :: count
    integer(c_int64_t), intent(inout) :: requests(*)
    integer, intent(out) :: index
    integer, intent(out) :: ierror
    ierror = c_pwaitany(count, requests, index)
end subroutine

subroutine offbeat_ptestsome(count, requests, completed, indices, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_ptestsome
    implicit none
    integer, intent(in) :: count
    integer(c_int64_t), intent(inout) :: requests(*)
    integer, intent(out) :: completed
    integer, intent(inout) :: indices(*)
    integer, intent(out) :: ierror
    ierror = c_ptestsome(count, requests, completed, indices)
end subroutine

subroutine offbeat_pwaitsome(count, requests, completed, indices, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pwaitsome
    implicit none
    integer, intent(in) :: count
    integer(c_int64_t), intent(inout) :: requests(*)
    integer, intent(out) :: completed
    integer, intent(inout) :: indices(*)
    integer, intent(out) :: ierror
    ierror = c_pwaitsome(count, requests, completed, indices)
end subroutine

subroutine offbeat_pcancel(request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_pcancel
    implicit none
    integer(c_int64_t), intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_pcancel(request)
end subroutine

subroutine offbeat_prequest_free(request, ierror)
    use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_loc
    use offbeat_partitioned_c, only: c_prequest_free
    implicit none
    integer(c_int64_t), intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_prequest_free(request)
end subroutine
