#!/bin/sh
# Prints the share of the outputs that agree with their answers.
right=0 total=0
for answer in "$RESEARCH_LOOP_ANSWERS"/*; do
	total=$((total + 1))
	if [ "$(cat "$RESEARCH_LOOP_OUTPUTS/${answer##*/}" 2>/dev/null)" = "$(cat "$answer")" ]; then
		right=$((right + 1))
	fi
done
awk -v right="$right" -v total="$total" 'BEGIN { printf "{\"metrics\": {\"accuracy\": %g}}\n", right / total }'
