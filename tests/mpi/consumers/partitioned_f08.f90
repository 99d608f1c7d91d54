! partitioned.c for mpi_f08; calls every procedure of the module.
program partitioned_f08
    use mpi_f08
    use offbeat_partitioned
    implicit none
    integer :: rank, ierror, i, iteration
    integer :: out(12), in(12), index, completed, indices(2)
    logical :: flag
    type(offbeat_prequest) :: requests(2)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call offbeat_partitioned_attach(MPI_COMM_WORLD, MPI_INFO_NULL)
    call offbeat_psend_init(out, 4, 3_MPI_COUNT_KIND, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, requests(1))
    call offbeat_precv_init(in, 3, 4_MPI_COUNT_KIND, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, requests(2), ierror)
    if (ierror /= MPI_SUCCESS) error stop "offbeat_precv_init failed"
    out = 0
    call offbeat_pstart(requests(1))
    call offbeat_pstart(requests(2))
    call offbeat_pready_list(2, [3, 0], requests(1))
    call offbeat_pready_range(1, 2, requests(1))
    flag = .false.
    do while (.not. flag)
        call offbeat_parrived(requests(2), 1, flag)
    end do
    flag = .false.
    do while (.not. flag)
        call offbeat_ptest(requests(1), flag)
    end do
    call offbeat_pwait(requests(2))
    out = [(100 * rank + i, i = 0, 11)]
    call offbeat_pstartall(2, requests)
    do i = 0, 3
        call offbeat_pready(i, requests(1))
    end do
    call offbeat_pwaitall(2, requests)
    do iteration = 1, 4
        call offbeat_pstartall(2, requests)
        call offbeat_pready_range(0, 3, requests(1))
        call complete_in_another_way(iteration)
    end do
    call offbeat_ptestany(2, requests, index, flag)
    if (.not. flag .or. index /= MPI_UNDEFINED) error stop "an inactive request was completed"
    call offbeat_pcancel(requests(1))
    do i = 1, 2
        call offbeat_prequest_free(requests(i))
    end do
    print '(a,i0,a,i0)', "rank ", rank, " received numbers with the sum ", sum(in)
    call a_receive_of_another_size_ends_a_loop()
    call offbeat_partitioned_finalize()
    call MPI_Finalize()

contains

    ! A loop that looks at the flag alone ends; the index of the failed request is the one of Fortran.
    subroutine a_receive_of_another_size_ends_a_loop()
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        call offbeat_psend_init(out, 4, 3_MPI_COUNT_KIND, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, requests(1))
        call offbeat_precv_init(in, 3, 3_MPI_COUNT_KIND, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, &
                                MPI_INFO_NULL, requests(2))
        call offbeat_pstartall(2, requests)
        call offbeat_pready_range(0, 3, requests(1))
        flag = .false.
        do while (.not. flag)
            call offbeat_parrived(requests(2), 1, flag, ierror)
        end do
        if (ierror == MPI_SUCCESS) error stop "a receive of another size succeeded"
        completed = 0
        do while (completed < 1)
            call offbeat_ptestsome(1, requests(2:2), completed, indices, ierror)
        end do
        if (ierror == MPI_SUCCESS .or. indices(1) /= 1) error stop "the failed request has another index"
        call offbeat_pwait(requests(1), ierror)
        do i = 1, 2
            call offbeat_prequest_free(requests(i))
        end do
    end subroutine

    ! Both requests are completed, whatever their order.
    subroutine complete_in_another_way(way)
        integer, intent(in) :: way
        logical :: seen(2)
        integer :: k
        seen = .false.
        do while (.not. all(seen))
            completed = 0
            select case (way)
            case (1)
                call offbeat_ptestall(2, requests, flag)
                if (flag) seen = .true.
            case (2)
                call offbeat_ptestany(2, requests, indices(1), flag)
                if (flag) completed = 1
            case (3)
                call offbeat_pwaitany(2, requests, indices(1))
                completed = 1
            case default
                if (seen(1) .or. seen(2)) then
                    call offbeat_pwaitsome(2, requests, completed, indices)
                else
                    call offbeat_ptestsome(2, requests, completed, indices)
                end if
            end select
            do k = 1, completed
                if (seen(indices(k))) error stop "a request was completed twice"
                seen(indices(k)) = .true.
            end do
        end do
    end subroutine
end program
