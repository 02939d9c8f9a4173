#!/bin/bash
docker pull registry.example.org/genomics:1.4
docker run --rm -u $(id -u) -v "$PWD":/work -w /work --cpus 8 registry.example.org/genomics:1.4 bwa mem -t 8 ref.fa reads.fq
