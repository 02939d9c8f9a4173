#!/bin/bash
diff <(sort a) <(sort b) > /dev/null || true
zcat reads.gz | srun -n 1 ./align - 2> >(tee err.log >&2) | gzip > out.gz
