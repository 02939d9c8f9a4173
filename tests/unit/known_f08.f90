! SPDX-License-Identifier: Apache-2.0
! An MPI program in Fortran 2008 whose calls are known exactly.
program known_f08
  use mpi_f08
  implicit none
  integer :: rank, ranks, i
  double precision :: a(1000), b(1000)
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: copy

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  a = rank
  do i = 1, 6
    call MPI_Allreduce(a, b, 100, MPI_DOUBLE_PRECISION, MPI_SUM, copy)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, b, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Irecv(b, 500, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a, 500, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_Finalize()
end program known_f08
