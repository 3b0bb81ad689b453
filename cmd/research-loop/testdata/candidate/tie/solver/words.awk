# Prints what was read.
{ print }
