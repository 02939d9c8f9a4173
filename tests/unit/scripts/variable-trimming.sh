#!/bin/bash
SCRIPT=/home/ada/cases/wing.inp.gz
BASE=${SCRIPT##*/}
STEM=${BASE%.gz}
NAME=${BASE%%.*}
DIR=${SCRIPT%/*}
srun ./aero --deck $STEM --name $NAME --dir $DIR --kind ${STEM#*.}
