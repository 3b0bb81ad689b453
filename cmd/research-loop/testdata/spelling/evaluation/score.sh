#!/bin/sh
# Compares every output with its answer and prints the share that agrees.
exec awk -v outputs="$RESEARCH_LOOP_OUTPUTS" '
	FNR == 1 {
		id = FILENAME
		sub(/.*\//, "", id)
		got = ""
		file = outputs "/" id
		getline got < file
		close(file)
		hit = got == $0
		right += hit
		total++
		cases = cases (total > 1 ? ", " : "") "{\"id\": \"" id "\", \"score\": " hit "}"
	}
	END { printf "{\"metrics\": {\"accuracy\": %.6f, \"right\": %d}, \"cases\": [%s]}\n", right / total, right, cases }
' "$RESEARCH_LOOP_ANSWERS"/*
