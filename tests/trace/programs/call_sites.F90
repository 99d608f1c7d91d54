! Calls in procedures of modules, and in a contained procedure.
module grid
    implicit none
    include 'mpif.h'
contains
    subroutine halo(x)
        integer, intent(inout) :: x
        call inner(x)
        call inner(x)
    contains
        subroutine inner(y)
            integer, intent(inout) :: y
            integer :: total, code
            call MPI_Allreduce(y, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
            y = mod(total, 7)
        end subroutine
    end subroutine

    integer function norm(x)
        integer, intent(in) :: x
        integer :: code
        call MPI_Allreduce(x, norm, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, code)
    end function
end module

program call_sites
    use grid
    implicit none
    integer :: x, code, i
    x = 1
    call MPI_Init(code)
    do i = 1, 3
        call halo(x)
        x = norm(x)
    end do
    call MPI_Finalize(code)
end program
