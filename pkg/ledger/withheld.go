package ledger

import "strings"

const (
	withheldLead = "sha256:"
	withheldTail = " (withheld: the remote refused it as a secret)"
)

// Withheld stands in a record for a text that the remote of the records refused
// to take: its digest, and why it is missing. An empty text stays empty, and
// what stands for a text already is left alone.
func Withheld(text string) string {
	if text == "" || isWithheld(text) {
		return text
	}
	return Hash([]byte(text)) + withheldTail
}

func isWithheld(text string) bool {
	digest, ok := strings.CutSuffix(text, withheldTail)
	return ok && len(digest) == len(ZeroHash) && strings.HasPrefix(digest, withheldLead) &&
		strings.Trim(digest[len(withheldLead):], "0123456789abcdef") == ""
}
