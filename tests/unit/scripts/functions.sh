#!/bin/bash
log() { echo "[$(date)] $*"; }
run_case() {
  local name=$1 np=${2:-4}
  log "case $name"
  mpirun -np "$np" ./flow --case "$name"
}
log start
run_case step 16
run_case cylinder
