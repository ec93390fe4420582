#!/usr/bin/env bash
# What the CUDA backend does on a real GPU, a stage at a time; see tools/gpu_check/stages.py.
#
#   tools/gpu_check.sh --stage build|suite|sanitize|model|big|soak|speed [--bin FOLDER] [--out FOLDER] [--model FILE] [--seconds N]
#
# Stages need no compiler: the programs are built elsewhere. A stage writes OUT/STAGE.json after each of its parts and, called
# again, goes on where it stopped. tools/gpu_check/merge.py OUT puts the reports into docs/.
exec python3 "$(dirname "$0")/gpu_check/stages.py" "$@"
