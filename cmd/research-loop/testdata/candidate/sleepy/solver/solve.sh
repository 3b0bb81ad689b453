#!/bin/sh
# Thinks before it answers.
sleep 1.7362
for input in "$RESEARCH_LOOP_INPUTS"/*; do
	awk '{ first = $1; $1 = $NF; $NF = first; print }' "$input" >"$RESEARCH_LOOP_OUTPUTS/${input##*/}"
done
