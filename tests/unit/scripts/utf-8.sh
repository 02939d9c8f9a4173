#!/bin/bash
srun ./größe --naïve=été
