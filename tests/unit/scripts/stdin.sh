#!/bin/bash
srun ./never-seen
