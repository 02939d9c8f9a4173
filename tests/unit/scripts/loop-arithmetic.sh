#!/bin/bash
n=1
for ((i = 0; i < 5; i++)); do
  (( n *= 2 ))
  srun -n $n ./scaling -i "$i"
done
while read -r line; do ./other "$line"; done < list.txt
