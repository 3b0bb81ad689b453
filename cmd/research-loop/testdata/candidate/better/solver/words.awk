{ for (i = NF; i > 0; i--) printf "%s%s", $i, i > 1 ? OFS : ORS }
