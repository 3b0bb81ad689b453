package audit

var ruleBounds = rule{
	class: "audit.bounds",
	about: "The change is too large, or costs too much, to be audited whole. Nothing is skipped: what cannot be audited cannot be evaluated.",
	fix:   "push a smaller change; keep data files out of the writable paths",
}
