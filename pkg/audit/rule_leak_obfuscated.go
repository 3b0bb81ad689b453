package audit

// An honest program has no reason to encode the words of a case: that they
// are encoded is evidence itself, so two rare words are enough.
const obfuscatedBits = 17

var ruleObfuscated = rule{
	class: "leak.obfuscated",
	about: "A decoded reading of the change (escapes, base64, hex, percent, HTML, UTF-16, reversed, rot13, character codes) holds the text of a case that does not stand there openly.",
	fix:   "remove the encoded text of the case; a general rule needs none",
	run: func(a *audit, r run) (Severity, bool) {
		return Invalid, r.hides() && (r.words && r.n > 1 && r.bits >= obfuscatedBits || r.whole && r.bits >= literalBits ||
			r.n == 1 && r.words && r.bits >= obfuscatedBits+a.surplus())
	},
}
