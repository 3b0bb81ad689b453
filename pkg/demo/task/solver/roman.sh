#!/bin/sh
# Reads a Roman numeral and prints its value.
exec awk -f solver/roman.awk
