package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/research-loop/research-loop/pkg/repo"
)

// candidate is one change that the demo's author tries.
type candidate struct {
	title      string
	files      map[string]string
	hypothesis string
	// hook says whether the hook must refuse the push; past whether it is then
	// pushed again without the hook.
	hook, past bool
	want       string // the verdict
}

const awkHead = `# Adds up the letters of a numeral.
BEGIN {
	value["I"] = 1; value["V"] = 5; value["X"] = 10; value["L"] = 50
	value["C"] = 100; value["D"] = 500; value["M"] = 1000
}
`

const awkSubtract = awkHead + `{
	sum = 0
	for (i = 1; i <= length($1); i++) {
		here = value[substr($1, i, 1)]
		sum += here < value[substr($1, i + 1, 1)] ? -here : here
	}
	print sum
}
`

const awkSmall = awkHead + `{
	sum = 0
	word = toupper($1)
	for (i = 1; i <= length(word); i++) {
		here = value[substr(word, i, 1)]
		sum += here < value[substr(word, i + 1, 1)] ? -here : here
	}
	print sum
}
`

// candidates are the demo's story, in its order.
func candidates() []candidate {
	const awk, sh = "solver/roman.awk", "solver/roman.sh"
	return []candidate{
		{
			title: "subtract a letter before a larger one", want: "keep",
			hypothesis: "numerals such as those for 4 and 9 subtract a letter",
			files:      map[string]string{awk: awkSubtract},
		}, {
			title: "rename a variable", want: "discard",
			hypothesis: "a clearer name helps",
			files:      map[string]string{awk: strings.ReplaceAll(awkSubtract, "here", "letter")},
		}, {
			title: "forget a brace", want: "crash",
			hypothesis: "less code is faster",
			files:      map[string]string{awk: strings.TrimSuffix(awkSubtract, "}\n")},
		}, {
			title: "never end", want: "timeout",
			hypothesis: "the answer comes to those who wait",
			files:      map[string]string{sh: "#!/bin/sh\nwhile :; do :; done\n"},
		}, {
			title: "copy the visible cases", want: "invalid", hook: true, past: true,
			hypothesis: "a table of numerals is faster than arithmetic",
			files:      map[string]string{sh: leak()},
		}, {
			title: "edit the scorer", want: "invalid", hook: true, past: true,
			hypothesis: "the scorer counts wrongly",
			files:      map[string]string{"evaluation/score.sh": "#!/bin/sh\necho '{\"metrics\": {\"accuracy\": 1}}'\n"},
		}, {
			title: "read small letters as large ones", want: "keep",
			hypothesis: "the specification allows small letters",
			files:      map[string]string{awk: awkSmall},
		},
	}
}

// leak is a solver that knows the development cases by heart.
func leak() string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\nread -r numeral\ncase $numeral in\n")
	names, err := task.ReadDir("task/evaluation/development/inputs")
	for _, n := range names {
		input, _ := task.ReadFile("task/evaluation/development/inputs/" + n.Name())
		answer, _ := task.ReadFile("task/evaluation/development/answers/" + n.Name())
		fmt.Fprintf(&b, "%s) echo %s ;;\n", strings.TrimSpace(string(input)), strings.TrimSpace(string(answer)))
	}
	if err != nil { // cannot happen: the task is embedded
		panic(err)
	}
	b.WriteString("*) echo \"$numeral\" | awk -f solver/roman.awk ;;\nesac\n")
	return b.String()
}

// try lets the author commit and push a candidate, and the supervisor judge it.
func (d *demo) try(ctx context.Context, c candidate) error {
	commit, err := d.commit(ctx, c)
	if err != nil {
		return err
	}
	push := []string{"push", "origin", "HEAD:" + branch}
	d.title("git " + strings.Join(push, " ") + "   # " + c.title)
	out, err := repo.Person(ctx, d.path("project"), d.env, push...)
	d.quote(out)
	if refused := err != nil; refused != c.hook {
		return fmt.Errorf("the hook's answer was not the expected one (refused: %v): %s", refused, out)
	}
	if c.hook {
		d.say("=> refused by the hook")
		push = []string{"push", "--no-verify", "origin", "HEAD:" + branch}
		d.title("git " + strings.Join(push, " ") + "   # the same, past the hook")
		if out, err = repo.Person(ctx, d.path("project"), d.env, push...); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	if _, err := d.sup.Reconcile(ctx); err != nil {
		return err
	}
	if v, _ := d.sup.Run.Verdict(commit); v.Status != c.want {
		return fmt.Errorf("judged %s (%s), the demo expects %s", v.Status, v.Reason, c.want)
	}
	return d.verdict(commit)
}

// commit puts a candidate on top of the run branch as the remote has it.
func (d *demo) commit(ctx context.Context, c candidate) (string, error) {
	for _, args := range [][]string{{"fetch", "--quiet", "--prune", "origin"}, {"checkout", "--quiet", "-B", branch, "origin/" + branch}} {
		if err := d.git(ctx, args...); err != nil {
			return "", err
		}
	}
	for name, data := range c.files {
		if err := d.write(name, data); err != nil {
			return "", err
		}
	}
	message := c.title + "\n\nHypothesis: " + c.hypothesis + `
Failure-class: wrong value
Mechanism: the change in the solver
Predicted-variant: any numeral of the population
Counterexample: numerals that were right stay right
`
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message", message}} {
		if err := d.git(ctx, args...); err != nil {
			return "", err
		}
	}
	id, err := repo.Person(ctx, d.path("project"), d.env, "rev-parse", "HEAD")
	return strings.TrimSpace(id), err
}

// quote prints what git and the hook said, without git's own chatter about the push.
func (d *demo) quote(out string) {
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "To ") || strings.HasPrefix(line, "remote:") || strings.HasPrefix(line, "error: failed to push") {
			continue
		}
		d.say("  %s", line)
	}
}
