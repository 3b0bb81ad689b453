// Package gate is the law of the sealed validation gate: what a run may ask
// it, how it answers, and what may be claimed afterwards.
//
// # The question
//
// A query measures one candidate on cases that its author has never seen. The
// answer is one bit. It compares case by case with the best result that any
// kept commit had in the gate, never with the latest one: else a chain of
// losses, each within the margin, would drift down without end.
//
//	non_inferior  losses - wins <= margin
//	improve       wins - losses >= margin
//
// Where the cases are workloads, each stands alone and every one must pass;
// the margin is then a fraction of the reference's value. Whatever keeps a
// candidate from having a result, a crash, a timeout, damaged output, is a
// failed gate. What a Verdict says beside its bit is for the maintainer only.
//
// # The budget
//
// An author who asks often enough learns the cases. Every query may tell one
// bit, every retry of a query one more, and the position of the at most two
// queries that end as a protected overlap log2(queries + 1) each. [Check]
// refuses a plan whose bits exceed a quarter of the cases, and everything else
// that would make the gate worth less than its name. [Inform] bounds, for
// scores between 0 and 1, by how much the last kept commit's score may exceed
// its true one, whatever the author did, with confidence 95 %:
//
//	eps_all = sqrt((Q ln 2 + ln 40) / 2n)                      any answers
//	eps_A   = sqrt((ln C(Q,A) + ln(Q+1) + ln 40) / 2n)         A of them passes
//
// with n cases and Q queries of the budget, used or not; the smaller one
// counts. Both hold for cases that are a sample of the population. The first
// query is the baseline's. Nothing refills a budget.
//
// # The claim
//
// The final test is asked once: an exact one-sided sign test at p <= 0.05
// between baseline and best kept commit. [State] chooses the sentence that a
// report may print from what the records say, and from nothing else.
package gate
