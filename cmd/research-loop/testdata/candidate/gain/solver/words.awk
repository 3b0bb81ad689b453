# Swaps the ends of what was read.
{ first = $1; $1 = $NF; $NF = first; print }
