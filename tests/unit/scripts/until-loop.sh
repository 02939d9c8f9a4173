#!/bin/bash
i=0
until [ -e converged ] || [ $i -ge 10 ]; do
  let i++
  srun --ntasks=6 ./iterate --pass "$i" || break
done
