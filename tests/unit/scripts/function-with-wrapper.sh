#!/bin/bash
function launch {
  srun --exclusive -N1 "$@"
}
launch -n 24 ./grid.x -l 5 || exit 1
