! SPDX-License-Identifier: Apache-2.0
! The program of known_f08.f90, with mpif.h instead of mpi_f08.
program known_mpif
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, i, code, copy, requests(2)
  double precision :: a(1000), b(1000)

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, code)
  a = rank
  do i = 1, 6
    call MPI_Allreduce(a, b, 100, MPI_DOUBLE_PRECISION, MPI_SUM, copy, code)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, b, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Irecv(b, 500, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 1, MPI_COMM_WORLD, requests(1), code)
  call MPI_Isend(a, 500, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 1, MPI_COMM_WORLD, requests(2), code)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
  call MPI_Finalize(code)
end program known_mpif
