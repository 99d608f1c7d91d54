! SPDX-License-Identifier: BSD-3-Clause
!> Interfaces of the functions of <offbeat/partitioned.h> and fortran/partitioned_handles.h. A request is an integer
!! of 64 bits.
module offbeat_partitioned_c
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr
    implicit none

    interface
        function c_attach(comm, info) &
            bind(C, name="offbeat_fortran_partitioned_attach") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: comm
            integer(c_int64_t), value :: info
            integer(c_int) :: code
        end function
        function c_psend_init(buffer, partitions, count, datatype, dest, tag, comm, info, request) &
            bind(C, name="offbeat_fortran_psend_init") result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: buffer
            integer(c_int), value :: partitions
            integer(c_int64_t), value :: count
            integer(c_int64_t), value :: datatype
            integer(c_int), value :: dest
            integer(c_int), value :: tag
            integer(c_int64_t), value :: comm
            integer(c_int64_t), value :: info
            integer(c_int64_t) :: request
            integer(c_int) :: code
        end function
        function c_precv_init(buffer, partitions, count, datatype, source, tag, comm, info, request) &
            bind(C, name="offbeat_fortran_precv_init") result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: buffer
            integer(c_int), value :: partitions
            integer(c_int64_t), value :: count
            integer(c_int64_t), value :: datatype
            integer(c_int), value :: source
            integer(c_int), value :: tag
            integer(c_int64_t), value :: comm
            integer(c_int64_t), value :: info
            integer(c_int64_t) :: request
            integer(c_int) :: code
        end function
        function c_pstart(request) &
            bind(C, name="offbeat_pstart") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t) :: request
            integer(c_int) :: code
        end function
        function c_pstartall(count, requests) &
            bind(C, name="offbeat_pstartall") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: count
            integer(c_int64_t) :: requests(*)
            integer(c_int) :: code
        end function
        function c_pready(partition, request) &
            bind(C, name="offbeat_pready") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: partition
            integer(c_int64_t), value :: request
            integer(c_int) :: code
        end function
        function c_pready_range(low, high, request) &
            bind(C, name="offbeat_pready_range") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: low
            integer(c_int), value :: high
            integer(c_int64_t), value :: request
            integer(c_int) :: code
        end function
        function c_pready_list(length, partitions, request) &
            bind(C, name="offbeat_pready_list") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: length
            integer(c_int) :: partitions(*)
            integer(c_int64_t), value :: request
            integer(c_int) :: code
        end function
        function c_parrived(request, partition, flag) &
            bind(C, name="offbeat_parrived") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: request
            integer(c_int), value :: partition
            integer(c_int) :: flag
            integer(c_int) :: code
        end function
        function c_ptest(request, flag) &
            bind(C, name="offbeat_fortran_ptest") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t) :: request
            integer(c_int) :: flag
            integer(c_int) :: code
        end function
        function c_pwait(request) &
            bind(C, name="offbeat_fortran_pwait") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t) :: request
            integer(c_int) :: code
        end function
        function c_pwaitall(count, requests) &
            bind(C, name="offbeat_fortran_pwaitall") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: count
            integer(c_int64_t) :: requests(*)
            integer(c_int) :: code
        end function
        function c_ptestall(count, requests, flag) &
            bind(C, name="offbeat_fortran_ptestall") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: count
            integer(c_int64_t) :: requests(*)
            integer(c_int) :: flag
            integer(c_int) :: code
        end function
        function c_ptestany(count, requests, index, flag) &
            bind(C, name="offbeat_fortran_ptestany") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: count
            integer(c_int64_t) :: requests(*)
            integer(c_int) :: index
            integer(c_int) :: flag
            integer(c_int) :: code
        end function
        function c_pwaitany(count, requests, index) &
            bind(C, name="offbeat_fortran_pwaitany") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: count
            integer(c_int64_t) :: requests(*)
            integer(c_int) :: index
            integer(c_int) :: code
        end function
        function c_ptestsome(count, requests, completed, indices) &
            bind(C, name="offbeat_fortran_ptestsome") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: count
            integer(c_int64_t) :: requests(*)
            integer(c_int) :: completed
            integer(c_int) :: indices(*)
            integer(c_int) :: code
        end function
        function c_pwaitsome(count, requests, completed, indices) &
            bind(C, name="offbeat_fortran_pwaitsome") result(code)
            import :: c_int, c_int64_t
            integer(c_int), value :: count
            integer(c_int64_t) :: requests(*)
            integer(c_int) :: completed
            integer(c_int) :: indices(*)
            integer(c_int) :: code
        end function
        function c_pcancel(request) &
            bind(C, name="offbeat_pcancel") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t) :: request
            integer(c_int) :: code
        end function
        function c_prequest_free(request) &
            bind(C, name="offbeat_prequest_free") result(code)
            import :: c_int, c_int64_t
            integer(c_int64_t) :: request
            integer(c_int) :: code
        end function
        function c_partitioned_finalize() &
            bind(C, name="offbeat_partitioned_finalize") result(code)
            import :: c_int
            integer(c_int) :: code
        end function
    end interface
end module
