package forge

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/sethvargo/go-githubactions"
)

// Runner is the job that this process runs in.
type Runner struct {
	RunID   int64
	Attempt int    // 1 for the first
	Job     string // the job's key in its workflow file
	Event   string // the event's name
	Actor   string // who sent the event first
	Trigger string // who started this attempt
	Ref     string // refs/heads/…
	Commit  string

	payload map[string]any
	getenv  func(string) string
	said    *sticky
	action  *githubactions.Action
}

// NewRunner reads what the runner says about the job. Its streams get commands
// and quoted text, nothing else may be written there.
func NewRunner(getenv func(string) string, stdout io.Writer) (*Runner, error) {
	said := &sticky{w: stdout}
	action := githubactions.New(githubactions.WithWriter(said), githubactions.WithGetenv(getenv))
	facts, err := action.Context()
	if err != nil {
		return nil, fmt.Errorf("the runner's variables: %w", err)
	}
	if !facts.Actions || facts.RunID == 0 || facts.RunAttempt == 0 {
		return nil, errors.New("this is no job of GitHub Actions: GITHUB_ACTIONS, GITHUB_RUN_ID or GITHUB_RUN_ATTEMPT is missing")
	}
	return &Runner{
		RunID: facts.RunID, Attempt: int(facts.RunAttempt), Job: facts.Job, Event: facts.EventName, Actor: facts.Actor,
		Trigger: facts.TriggeringActor, Ref: facts.Ref, Commit: facts.SHA, payload: facts.Event, getenv: getenv, said: said, action: action,
	}, nil
}

// Input gives what the event says under a name: an input of workflow_dispatch, or
// a string in the payload of repository_dispatch. Anybody who may write can have
// put it there.
func (r *Runner) Input(name string) string {
	for _, place := range []string{"inputs", "client_payload"} {
		if fields, ok := r.payload[place].(map[string]any); ok {
			if text, ok := fields[name].(string); ok {
				return text
			}
			if value, ok := fields[name]; ok && value != nil {
				text, _ := json.Marshal(value)
				return string(text)
			}
		}
	}
	return ""
}

// HeadBranch is the branch of the run that a workflow_run event is about, "" in
// every other event. Its author named it.
func (r *Runner) HeadBranch() string {
	run, _ := r.payload["workflow_run"].(map[string]any)
	name, _ := run["head_branch"].(string)
	return name
}

var outputName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,99}$`) })

// maxOutput bounds one output of a step, in bytes; a job may have 1 MB of them.
const maxOutput = 512 << 10

// Output hands a value on to later steps and jobs.
func (r *Runner) Output(name, value string) error {
	switch {
	case !outputName().MatchString(name):
		return fmt.Errorf("%.60q cannot be the name of an output", name)
	case len(value) > maxOutput:
		return fmt.Errorf("output %s has %d bytes, at most %d may be handed on", name, len(value), maxOutput)
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("output %s holds a zero byte", name)
	}
	mark := "research-loop-" + rand.Text()
	if strings.Contains(value, mark) {
		return fmt.Errorf("output %s holds its own delimiter", name) // 130 random bits say it cannot happen
	}
	return r.put("GITHUB_OUTPUT", name+"<<"+mark+"\n"+value+"\n"+mark+"\n")
}

// maxSummary bounds the summary of a step: a larger one is dropped as a whole.
const maxSummary = 1 << 20

// Summary shows Markdown on the run's page, cut where it is too long. Text of
// candidates in it must be escaped already.
func (r *Runner) Summary(markdown string) error {
	return r.put("GITHUB_STEP_SUMMARY", shorten(markdown, maxSummary-1)+"\n")
}

// put appends to one of the runner's files in one write.
func (r *Runner) put(variable, text string) error {
	path := r.getenv(variable)
	if path == "" {
		return fmt.Errorf("the runner gives no %s", variable)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	return nil
}

// Mask has the runner blank a secret in every log from here on, each line of it:
// the runner compares lines. Never mask what an author may guess, such as an
// answer: what is blanked in a log would tell the guess.
func (r *Runner) Mask(secret string) error {
	for line := range strings.Lines(secret) {
		if line = strings.TrimSpace(line); line != "" {
			r.action.AddMask(line)
		}
	}
	return r.said.err
}

// Notice, Warning and Error show one line on the run's page.
func (r *Runner) Notice(text string) error { r.action.Noticef("%s", plain(text)); return r.said.err }

// Warning is a Notice that warns.
func (r *Runner) Warning(text string) error { r.action.Warningf("%s", plain(text)); return r.said.err }

// Error is a Notice of a failure. It ends nothing.
func (r *Runner) Error(text string) error { r.action.Errorf("%s", plain(text)); return r.said.err }

// sticky keeps the first error of a writer, and tells go-githubactions of none:
// it would panic.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}
