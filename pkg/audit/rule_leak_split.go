package audit

var ruleSplitLiteral = rule{
	class: "leak.split-literal",
	about: "Pieces of strings, run together, give the text of a case, and the cut goes through a word: no other reason is known to write it so.",
	fix:   "remove the pieces; a general rule needs no text of a case",
	run: func(a *audit, r run) (Severity, bool) {
		return Invalid, r.how == joined && (r.wholly(a) || r.concealed(a))
	},
}
