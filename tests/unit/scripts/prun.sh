#!/bin/bash
prun --prtemca routed direct --np 4 --map-by node ./ring
