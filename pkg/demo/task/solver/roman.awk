# Adds up the letters of a numeral.
BEGIN {
	value["I"] = 1; value["V"] = 5; value["X"] = 10; value["L"] = 50
	value["C"] = 100; value["D"] = 500; value["M"] = 1000
}
{
	sum = 0
	for (i = 1; i <= length($1); i++)
		sum += value[substr($1, i, 1)]
	print sum
}
