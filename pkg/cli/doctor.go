package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/research-loop/research-loop/pkg/contract"
	"github.com/research-loop/research-loop/pkg/forge"
	"github.com/research-loop/research-loop/pkg/report"
	"github.com/research-loop/research-loop/pkg/sandbox"
	"github.com/research-loop/research-loop/pkg/setup"
	"github.com/research-loop/research-loop/workflows"
)

func doctorCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and the repository's settings, with the cure for each failing row",
		Long: `Doctor attacks the sandbox of this machine and, where the remote is on GitHub,
reads the settings of the repository: one row each, with its cure, and the level
of trust that they reach. With --fix it does all that an administrator's token
can, showing each request before it is sent; done twice it changes nothing more.
With --author it says what the token at hand, the author's, may do.

Deploy keys and who passes a ruleset are shown to administrators alone. A job cannot
see them, so a run is recorded as protected only where start, with an administrator's
token, attests them and the job finds what it sees itself to agree.

The token comes from GH_TOKEN or GITHUB_TOKEN (GH_ENTERPRISE_TOKEN for another
GitHub than github.com), else from gh.`,
		Example: `  research-loop doctor
  research-loop doctor --fix
  GH_TOKEN=… research-loop doctor --author`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error { return env.doctor(cmd) }),
	}
	cmd.Flags().String("remote", "origin", "a remote of this repository, or a URL")
	cmd.Flags().Bool("fix", false, "put right what an administrator's token can")
	cmd.Flags().Bool("author", false, "the token is the author's: look at its rights")
	cmd.AddCommand(&cobra.Command{
		Use: "sandbox", Short: "Attack the sandbox of this machine and say what held", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.doctorSandbox(cmd) },
	})
	return cmd
}

// machine is what doctor found out about this machine.
type machine struct {
	Mode   string     `json:"mode"`
	Limits []string   `json:"limits"`
	Rows   []probeRow `json:"rows"`
}

type probeRow struct {
	Name   string `json:"name"`
	Held   bool   `json:"held"`
	Detail string `json:"detail"`
	Cure   string `json:"cure"`
}

// open lists the walls that did not hold.
func (m machine) open() []string {
	var out []string
	for _, r := range m.Rows {
		if !r.Held {
			out = append(out, r.Name)
		}
	}
	return out
}

// examine attacks the sandbox. A machine that has none is one row that did not hold.
func examine(ctx context.Context) (machine, error) {
	m := machine{Limits: []string{}, Rows: []probeRow{}}
	box, err := sandbox.New(sandbox.Options{})
	var none *sandbox.SetupError
	if errors.As(err, &none) {
		m.Rows = append(m.Rows, probeRow{"sandbox", false, none.Error(), none.Fix})
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer box.Close()
	rows, err := box.Probe(ctx)
	for _, r := range rows {
		m.Rows = append(m.Rows, probeRow(r))
	}
	m.Mode, m.Limits = string(box.Mode()), append(m.Limits, box.Limits()...)
	return m, err
}

// doctor examines the machine, and the repository where it is on GitHub.
func (e *Env) doctor(cmd *cobra.Command) error {
	c, err := e.forge(cmd)
	if errors.Is(err, forge.ErrElsewhere) {
		c, err = nil, nil
	}
	if err != nil {
		return err
	}
	m, err := examine(cmd.Context())
	if err != nil {
		return err
	}
	var d *setup.Diagnosis
	if c != nil {
		found, err := e.settings(cmd, c)
		if err != nil {
			return err
		}
		d = &found
	}
	if err := e.showDoctor(cmd, m, d); err != nil {
		return err
	}
	if open := m.open(); len(open) > 0 {
		return &verdictError{exitIntegrity, "evaluation integrity cannot be guaranteed on this machine: " + strings.Join(open, ", "), "apply the cures above, then research-loop doctor"}
	}
	if d == nil || len(d.Refusals()) == 0 {
		return nil
	}
	var names []string
	for _, r := range d.Refusals() {
		names = append(names, r.Name)
	}
	return &verdictError{exitDecision, "settings of " + d.Repository + " break the trust model: " + strings.Join(names, ", "), "research-loop doctor --fix with an administrator's token, then what it leaves"}
}

// forge gives the client for the remote of a command, forge.ErrElsewhere where
// that is not on GitHub.
func (e *Env) forge(cmd *cobra.Command) (*forge.Client, error) {
	name, _ := cmd.Flags().GetString("remote")
	s := &session{env: e, asked: name}
	if err := s.resolve(cmd.Context(), name); err != nil {
		return nil, err
	}
	e.found = s // an open that follows need not ask git again
	place, err := forge.Locate(s.remote, e.Getenv)
	if err != nil {
		return nil, err
	}
	token, err := setup.Token(cmd.Context(), e.Getenv, place)
	if err != nil {
		return nil, err
	}
	login := ""
	if e.Getenv("GITHUB_ACTIONS") == "true" {
		login = forge.WorkflowLogin
	}
	return forge.New(forge.Options{Place: place, Token: token, Login: login, Now: e.Now, Sleep: sleep})
}

// sleep waits, less if the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// settings examines the repository for what the contract on its default branch needs.
func (e *Env) settings(cmd *cobra.Command, c *forge.Client) (setup.Diagnosis, error) {
	want := setup.Wanted{Workflows: workflows.Shipped()}
	want.Author, _ = cmd.Flags().GetBool("author")
	r, err := c.Repository(cmd.Context())
	if err != nil {
		return setup.Diagnosis{}, err
	}
	draft, err := c.File(cmd.Context(), r.Default, contract.DraftPath)
	if err != nil {
		return setup.Diagnosis{}, err
	}
	if draft != nil {
		sealed, err := contract.Parse(contract.DraftPath, draft)
		if err != nil {
			return setup.Diagnosis{}, err
		}
		want.Keys, want.RepositorySecrets = sealed.Keys != nil, sealed.Exception("repository-secrets")
	}
	if fix, _ := cmd.Flags().GetBool("fix"); !fix {
		return setup.Diagnose(cmd.Context(), c, want)
	}
	return setup.Fix(cmd.Context(), c, want, func(r forge.Request) { e.say("%s", r) })
}

func (e *Env) showDoctor(cmd *cobra.Command, m machine, d *setup.Diagnosis) error {
	if wantsJSON(cmd) {
		return e.json("doctor", map[string]any{"machine": m, "repository": d})
	}
	e.showMachine(m)
	if d == nil {
		e.say("the remote is not on GitHub: level local")
		return nil
	}
	fmt.Fprintf(e.Stdout, "\n%s\n", d.Repository)
	t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range d.Rows {
		text := r.Detail
		if r.Fix != "" {
			text += "; fix: " + r.Fix
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, r.State, report.Line(text))
	}
	t.Flush()
	_, err := fmt.Fprintf(e.Stdout, "\nlevel %s\n", d.Level)
	for _, why := range d.Why {
		fmt.Fprintf(e.Stdout, "  %s\n", report.Line(why))
	}
	return err
}

func (e *Env) doctorSandbox(cmd *cobra.Command) error {
	m, err := examine(cmd.Context())
	if err != nil {
		return err
	}
	if wantsJSON(cmd) {
		err = e.json("doctor-sandbox", m)
	} else {
		err = e.showMachine(m)
	}
	if open := m.open(); err == nil && len(open) > 0 {
		return &verdictError{exitIntegrity, "evaluation integrity cannot be guaranteed: " + strings.Join(open, ", "), "apply the cures above, then research-loop doctor sandbox"}
	}
	return err
}

func (e *Env) showMachine(m machine) error {
	t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "mode\t%s\t%s\n", m.Mode, strings.Join(m.Limits, ", "))
	for _, r := range m.Rows {
		word, text := "held", r.Detail
		if !r.Held {
			word, text = "OPEN", strings.TrimSpace(r.Detail+"; cure: "+r.Cure)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, word, text)
	}
	return t.Flush()
}
