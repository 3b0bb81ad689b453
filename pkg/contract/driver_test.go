package contract

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// driven is a draft of mode driver; a test puts other lines in their place.
const driven = `research_loop: 1
goal: Win more games.
population: Games against the house.
harness: {paths: [house/**]}
scope:
  writable: [player/**]
candidate:
  mode: driver
  build: {run: make}
  run: sh player/main.sh --seed {seed}
evaluation:
  driver: {run: sh house/play.sh --seed 7}
  score: sh house/score.sh
  timeout: 5s
  total: 1m
splits: {development: house/games}
metric: {name: won, direction: higher}
acceptance: {policy: deterministic, min_delta: 1}
limits: {open_ended: true}
exceptions: [no-gate]
`

// prompt turns driven into a draft of mode data.
var prompt = []string{
	"mode: driver", "mode: data", "  build: {run: make}\n", "", "  run: sh player/main.sh --seed {seed}\n", "",
	"run: sh house/play.sh --seed 7", "run: sh house/ask.sh, network: true, secrets: [JUDGE_API_KEY]",
}

func TestModesAccept(t *testing.T) {
	for name, draft := range map[string]string{
		"driver":             driven,
		"driver without run": strings.Replace(driven, "  run: sh player/main.sh --seed {seed}\n", "", 1),
		"data":               strings.NewReplacer(prompt...).Replace(driven),
		"data without":       strings.NewReplacer(append(slices.Clone(prompt), ", network: true, secrets: [JUDGE_API_KEY]", "")...).Replace(driven),
	} {
		c := mustParse(t, draft)
		sealed, err := Open(Seal([]byte(draft), c, someFacts()), "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(sealed.Contract, c) || c.Evaluation.Driver == nil {
			t.Errorf("%s: sealed as %+v, was %+v", name, sealed.Contract, c)
		}
	}
	if got, want := *mustParse(t, strings.NewReplacer(prompt...).Replace(driven)).Evaluation.Driver,
		(Driver{Run: "sh house/ask.sh", Network: true, Secrets: []string{"JUDGE_API_KEY"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("driver %+v, want %+v", got, want)
	}
}

func TestModesRefuse(t *testing.T) {
	data := strings.NewReplacer(prompt...).Replace(driven)
	const nothing = "in mode data nothing of the candidate is launched"
	for _, c := range []struct {
		draft, old, new string
		want            []string
	}{
		{driven, "  driver: {run: sh house/play.sh --seed 7}\n", "", []string{"12:3 $.evaluation.driver: missing"}},
		{driven, "{run: sh house/play.sh --seed 7}", "{network: true}", []string{"12:11 $.evaluation.driver.run: missing", "12:21 $.evaluation.driver.network: candidate code could reach the network through the driver of mode driver"}},
		{driven, "{run: sh house/play.sh --seed 7}", "{run: x, secrets: [A_KEY]}", []string{"12:29 $.evaluation.driver.secrets: candidate code could learn the secrets of the driver of mode driver"}},
		{driven, "{run: sh house/play.sh --seed 7}", "{run: x, newtork: true}", []string{`12:20 $.evaluation.driver: unknown key "newtork"; did you mean "network"?`}},
		{driven, "{run: sh house/play.sh --seed 7}", "sh house/play.sh", []string{`12:11 $.evaluation.driver: want a mapping, got the text "sh house/play.sh"`}},
		{driven, "sh house/play.sh", "sh player/play.sh", []string{`12:11 $.evaluation.driver: the author may change the driver's file "player/play.sh"`}},
		{driven, "run: make", "run: 'make {seed}'", []string{"9:16 $.candidate.build.run: {seed} is filled in candidate.run and evaluation.driver.run only"}},
		{driven, "sh house/score.sh", "sh house/score.sh {seed}", []string{"13:10 $.evaluation.score: {seed} is filled in candidate.run and evaluation.driver.run only"}},
		{driven, "mode: driver", "mode: case", []string{"12:11 $.evaluation.driver: a driver belongs to modes driver and data, this is mode case"}},
		{driven, "mode: driver", "mode: drive", []string{`8:9 $.candidate.mode: want one of batch, case, driver, data, got "drive"; did you mean "driver"?`}},
		{strings.Replace(driven, "mode: driver", "mode: batch", 1), "  run: sh player/main.sh --seed {seed}\n", "",
			[]string{"8:3 $.candidate.run: missing", "11:11 $.evaluation.driver: a driver belongs to modes driver and data, this is mode batch"}},
		{data, "mode: data", "mode: data\n  run: x\n  build: {run: make}\n  directory: player",
			[]string{"9:8 $.candidate.run: " + nothing, "10:10 $.candidate.build: " + nothing, "11:14 $.candidate.directory: " + nothing}},
		{data, "writable: [player/**]", "writable: [player/**]\n  generated: [{path: out, policy: reset}]", []string{"7:14 $.scope.generated: " + nothing}},
		{data, "metric: {name: won, direction: higher}", "metric: {name: won, direction: higher}\nsecondary: [{name: wall_seconds, direction: lower}]\nconstraints: [{metric: cpu_seconds, at_most: 1}]",
			[]string{"16:20 $.secondary[0].name: " + nothing + ": wall_seconds would measure the harness", "17:24 $.constraints[0].metric: " + nothing + ": cpu_seconds would measure the harness"}},
		{data, "[JUDGE_API_KEY]", "[judge key]", []string{`10:59 $.evaluation.driver.secrets[0]: want the name of an environment variable, letters, digits and _, got "judge key"`}},
		{data, "[JUDGE_API_KEY]", "[RESEARCH_LOOP_JUDGE]", []string{`10:59 $.evaluation.driver.secrets[0]: names that begin with RESEARCH_LOOP_ belong to the supervisor`}},
		{data, "[JUDGE_API_KEY]", "[A_KEY, A_KEY]", []string{`10:66 $.evaluation.driver.secrets[1]: "A_KEY" stands in the list twice, first on line 10`}},
		{data, "network: true", "network: yes", []string{`10:43 $.evaluation.driver.network: want true or false, got the text "yes"`}},
		{data, "  timeout: 5s", "  timeout: 5s\n  environment: {JUDGE_API_KEY: x}", []string{"10:59 $.evaluation.driver.secrets[0]: JUDGE_API_KEY is set by evaluation.environment already"}},
	} {
		if strings.Count(c.draft, c.old) != 1 {
			t.Fatalf("%q stands %d times in the draft", c.old, strings.Count(c.draft, c.old))
		}
		if got := faultsOf(t, strings.Replace(c.draft, c.old, c.new, 1)); !slices.Equal(got, c.want) {
			t.Errorf("%q for %q:\ngot  %q\nwant %q", c.new, c.old, got, c.want)
		}
	}
}

// TestDriverFrozen holds the driver's file against the files of the baseline.
func TestDriverFrozen(t *testing.T) {
	c := mustParse(t, driven)
	paths := []string{"house/play.sh", "house/score.sh", "house/games/inputs/a", "house/games/answers/a", "player/main.sh"}
	if faults := c.CheckPaths(paths); len(faults) > 0 {
		t.Errorf("%+v", faults)
	}
	faults := c.CheckPaths(paths[1:])
	if len(faults) != 1 || faults[0].Path != "$.evaluation.driver.run" || !strings.Contains(faults[0].Message, `no file "house/play.sh"`) {
		t.Errorf("without the driver's file: %+v", faults)
	}
}
