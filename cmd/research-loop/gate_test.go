package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// splitFiles are the cases of a list of the spelling task, as a folder of a
// split holds them.
func splitFiles(t *testing.T, list string) map[string]string {
	t.Helper()
	pairs, err := os.ReadFile(filepath.Join(spelling, list))
	must(t, err)
	files := map[string]string{}
	for i, line := range strings.Split(strings.TrimSpace(string(pairs)), "\n") {
		wrong, right, _ := strings.Cut(line, "\t")
		files[fmt.Sprintf("inputs/%03d", i)] = wrong + "\n"
		files[fmt.Sprintf("answers/%03d", i)] = right + "\n"
	}
	return files
}

// TestGateSpelling seals the spelling task's gate and final split, which share
// 5, 13 and 2 inputs with development and with each other.
func TestGateSpelling(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("gate_seal.txt seals fewer cases: set CI=true for the whole task")
	}
	needSpelling(t)
	p := newPerson(t, t.TempDir())
	write := func(dir string, files map[string]string) {
		for name, text := range files {
			path := filepath.Join(p.dir, dir, name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	words, err := os.ReadFile(filepath.Join(spelling, "words.tsv"))
	must(t, err)
	write("project", map[string]string{
		"data/words.tsv": string(words), "docs/spelling.md": "# Spelling\n", "evaluation/score.sh": task(t, "evaluation/score.sh"),
		"corrector/main.go": task(t, "corrector/main.go.txt"), "go.mod": task(t, "go.mod.txt"),
	})
	write("project/evaluation/development", splitFiles(t, "development.tsv"))
	write("validation", splitFiles(t, "validation.tsv"))
	write("final", splitFiles(t, "final.tsv"))
	keys := p.run("research-loop", "gate", "keygen", "--out", "keys", "--name", "octo-org/widget")
	write("project/.research-loop", map[string]string{"contract.yml": task(t, "contract.yml") + keys + "\n"})
	p.publish()

	for _, c := range []struct {
		split   string
		against []string
		shared  map[string]int
		left    int
	}{
		{"validation", nil, map[string]int{"development": 5}, 395},
		{"final", []string{"--against", "../validation"}, map[string]int{"development": 13, filepath.Join(p.dir, "..", "validation"): 2}, 418},
	} {
		args := append([]string{"gate", "seal", "../" + c.split, "--split", c.split, "--out", "sealed", "--json"}, c.against...)
		refused := p.try("research-loop", args...)
		if refused.code != 2 {
			t.Fatalf("%s: exit %d\n%s", c.split, refused.code, refused.stderr)
		}
		for with, n := range c.shared {
			if want := fmt.Sprintf("%d in %s, %d of them byte for byte", n, with, n); !strings.Contains(refused.stderr, want) {
				t.Errorf("the refusal does not say %q:\n%s", want, refused.stderr)
			}
		}
		var sealed struct {
			Cases, Dropped int
			Overlaps       []struct {
				With         string
				Exact, Alike int
			}
		}
		must(t, json.Unmarshal([]byte(p.run("research-loop", append(args, "--drop-overlap")...)), &sealed))
		if sealed.Cases != c.left || len(sealed.Overlaps) != len(c.shared) {
			t.Errorf("%s: %+v", c.split, sealed)
		}
		for _, o := range sealed.Overlaps {
			if o.Alike != c.shared[o.With] || o.Exact != o.Alike {
				t.Errorf("%s: %d and %d alike with %s, want %d", c.split, o.Exact, o.Alike, o.With, c.shared[o.With])
			}
		}
	}

	// With the list in the tree every case is found, also when it is gone again.
	// Two misspellings stand in it twice.
	list, err := os.ReadFile(filepath.Join(spelling, "validation.tsv"))
	must(t, err)
	write("", map[string]string{"corpora/list.tsv": string(list)})
	for _, c := range []struct{ git, place string }{{"add --all", "the tree"}, {"rm --quiet -r corpora", "the history"}} {
		p.run("git", strings.Fields(c.git)...)
		p.run("git", "commit", "--quiet", "--message", "a list")
		found := p.try("research-loop", "gate", "seal", "../validation", "--split", "validation", "--out", "again")
		if found.code != 2 || !strings.Contains(found.stderr, "400 of 400 cases") || !strings.Contains(found.stderr, "398 in "+c.place+", 398 of them byte for byte") {
			t.Errorf("%s: exit %d\n%s", c.place, found.code, found.stderr)
		}
	}
}
