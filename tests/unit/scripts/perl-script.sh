#!/usr/bin/env perl
#SBATCH -J perly
use strict;
system("mpirun ./no");
