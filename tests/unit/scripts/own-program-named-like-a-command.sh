#!/bin/bash
./test --all
