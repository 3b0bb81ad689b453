package audit

import (
	"fmt"
	"strings"
	"testing"
)

// numerals are short cases of one word, as scripts meet them.
var numerals = []Case{
	{"a", "XXVII\n", "27\n"}, {"b", "CXXXII\n", "132\n"}, {"c", "DCCXIII\n", "713\n"}, {"d", "MMXXIII\n", "2023\n"},
	{"e", "XCIV\n", "94\n"}, {"f", "CDXXIX\n", "429\n"}, {"g", "CMXLIX\n", "949\n"}, {"h", "MCDXCII\n", "1492\n"},
}

// table gives one line a case, by a format with the input and the answer.
func table(format string) string {
	var b strings.Builder
	for _, c := range numerals {
		fmt.Fprintf(&b, format, strings.TrimSpace(c.Input), strings.TrimSpace(c.Answer))
	}
	return b.String()
}

// TestUnquotedTables covers languages in which a key needs no quotes.
func TestUnquotedTables(t *testing.T) {
	for name, c := range map[string]struct{ path, text, want string }{
		"case arms":     {"src/x.sh", "case $n in\n" + table("%s) echo %s ;;\n") + "esac\n", "invalid"},
		"brackets":      {"src/x.sh", table("[ \"$n\" = %s ] && echo %s\n"), "invalid"},
		"test":          {"src/x.sh", table("test $n = %s && echo %s\n"), "invalid"},
		"here document": {"src/x.sh", "awk -v n=\"$n\" '$1 == n { print $2 }' <<EOT\n" + table("%s %s\n") + "EOT\n", "invalid"},
		"awk patterns":  {"src/x.awk", table("/^%s$/ { print %s; exit }\n"), "invalid"},
		"awk array":     {"src/x.awk", "BEGIN {\n" + table("t[\"%s\"] = %s\n") + "}\n", "invalid"},
		"sed":           {"src/x.sed", table("s/^%s$/%s/\n"), "invalid"},
		"columns":       {"src/table", table("%s %s\n"), "invalid"},
		"options": {"src/x.sh", "case $word in\n-h) echo usage ;;\n[a-z]*) word=$(echo \"$word\" | tr a-z A-Z) ;;\nesac\n" +
			"[ \"$word\" = all ] && exit\n", "pass"},
		"awk program": {"src/x.awk", "/^#/ { next }\n/[0-9]/ { print $1; exit }\n{ total += value[$1] }\n", "pass"},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory{}
			base := []Entry{{"src/old.sh", "100644", store.add([]byte("read -r n\necho \"$n\"\n"))}}
			in := Input{
				Scope: prefixes{[]string{"src/"}, nil}, Blobs: store, Baseline: base, Cases: numerals, Gate: true,
				Candidate: append(base[:1:1], Entry{c.path, "100644", store.add([]byte(c.text))}),
			}
			if r := Check(in); r.Verdict() != c.want {
				t.Errorf("%s, want %s: %v", r.Verdict(), c.want, r.Findings)
			}
		})
	}
}
