#!/bin/bash
#SBATCH -c 4
stage=3
stop_stage=3
if [ $stage -le 1 ] && [ $stop_stage -ge 1 ]; then
    bash local/train_acoustic.sh data exp
fi
if [ ${stage} -le 2 ] && [ ${stop_stage} -ge 2 ]; then
    python local/train_words.py exp
fi
if [ ${stage} -le 3 ] && [ ${stop_stage} -ge 3 ]; then
    python local/decode_words.py exp --beam 12
fi
