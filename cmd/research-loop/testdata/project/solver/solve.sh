#!/bin/sh
# Answers every input with its words in the opposite order.
for input in "$RESEARCH_LOOP_INPUTS"/*; do
	awk -f solver/words.awk "$input" >"$RESEARCH_LOOP_OUTPUTS/${input##*/}"
done
