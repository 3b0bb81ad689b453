package audit

// An honest program has no reason to encode the words of a case: that they
// are encoded is evidence itself, so two rare words are enough.
const obfuscatedBits = 17

// commonBits is what words of a list need: "no longer" is encoded in honest
// texts too.
const commonBits = 30

var ruleObfuscated = rule{
	class: "leak.obfuscated",
	about: "A decoded reading of the change (escapes, base64, hex, percent, HTML, UTF-16, reversed, rot13, character codes) holds the text of a case that does not stand there openly.",
	fix:   "remove the encoded text of the case; a general rule needs none",
	run: func(a *audit, r run) (Severity, bool) {
		return Invalid, r.hides() && (r.concealed(a) || r.wholly(a) ||
			r.n == 1 && r.words && r.bits >= obfuscatedBits+a.surplus())
	},
}

// concealed says that a row of words is rare enough to have been hidden.
func (r run) concealed(a *audit) bool {
	need := obfuscatedBits
	if !r.exotic {
		need = commonBits
	}
	return r.words && r.n > 1 && r.bits >= float64(need)+a.surplus()/2
}

// wholly says that a literal is a field and nothing else. A single word is met
// by chance where many words are turned and joined.
func (r run) wholly(a *audit) bool {
	need := float64(literalBits)
	if len(r.field.ids) == 1 {
		need += a.surplus()
	}
	return r.whole && r.bits >= need
}
