// Package paired tests paired measurements exactly, without random numbers.
//
// Every pair is one number: above zero where the candidate did better, below
// where it did worse. Both tests are one-sided. Their null hypothesis is that
// the candidate is no better: that each sign is a fair coin, which holds for
// two equal arms in random order whatever their distribution is.
//
//	[Sign]     counts wins and losses, as McNemar's exact test does
//	[Analyse]  ranks the differences (Wilcoxon's signed-rank test), estimates
//	           the gain (Hodges and Lehmann) and bounds it from below
//
// Pairs without a difference say nothing about the sign and are dropped from
// both tests, never from the estimate and its bound. Equal differences share
// the mean of their ranks; ranks are doubled, so that they stay whole numbers,
// and the distribution of their sum is computed over those numbers.
//
// What is remarkable about a result is part of it, as Warnings: data from
// which no verdict can follow are a result, not an error. Errors are for what
// is no measurement, such as NaN, or too much to compute. The same data give
// the same result, bit for bit, in any order of the pairs.
package paired
