! partitioned.c for mpi_f08; calls every procedure of the module.
program partitioned_f08
    use mpi_f08
    use offbeat_partitioned
    implicit none
    integer :: rank, ierror, i
    integer :: out(12), in(12)
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
    call offbeat_pcancel(requests(1))
    do i = 1, 2
        call offbeat_prequest_free(requests(i))
    end do
    print '(a,i0,a,i0)', "rank ", rank, " received numbers with the sum ", sum(in)
    call offbeat_partitioned_finalize()
    call MPI_Finalize()
end program
