#!/bin/bash
srun $SLURM_SUBMIT_DIR/bin/app
