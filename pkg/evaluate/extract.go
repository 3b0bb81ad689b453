package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/research-loop/research-loop/pkg/ledger"
)

// scores is what one scorer launch printed.
type scores struct {
	metrics map[string]float64
	cases   []ledger.CaseScore
}

// extraction says what the scorer has to print.
type extraction struct {
	regex   *regexp.Regexp // nil: json
	metrics []string       // exactly these
	ids     []string       // all of these, or no cases at all
	byCase  bool           // no cases at all will not do
}

// read takes the scores from what the scorer printed. The error says what was
// wrong with it; nothing is guessed and nothing is left over.
func (e extraction) read(stdout []byte) (scores, error) {
	if e.regex != nil {
		return e.match(stdout)
	}
	if len(bytes.TrimSpace(stdout)) == 0 {
		return scores{}, errors.New("the scorer printed nothing")
	}
	s, err := parseScores(stdout)
	if err != nil {
		return scores{}, err
	}
	if err := e.checkMetrics(s.metrics); err != nil {
		return scores{}, err
	}
	return s, e.checkCases(s.cases)
}

// match applies the contract's pattern to every line by itself, so that it
// means the same with and without the flag m.
func (e extraction) match(stdout []byte) (scores, error) {
	if len(e.metrics) != 1 {
		return scores{}, fmt.Errorf("a pattern gives one metric, the contract asks for %d: use extract: json", len(e.metrics))
	}
	var found []string
	for line := range strings.Lines(string(stdout)) {
		for _, m := range e.regex.FindAllStringSubmatch(strings.TrimRight(line, "\r\n"), -1) {
			found = append(found, m[min(1, len(m)-1)])
		}
	}
	if len(found) != 1 {
		return scores{}, fmt.Errorf("pattern %q matched %d times, once is right", e.regex, len(found))
	}
	v, err := finite(found[0])
	if err != nil {
		return scores{}, fmt.Errorf("metric %s: %w", e.metrics[0], err)
	}
	return scores{metrics: map[string]float64{e.metrics[0]: v}}, nil
}

func (e extraction) checkMetrics(got map[string]float64) error {
	var wrong []string
	for _, name := range e.metrics {
		if _, ok := got[name]; !ok {
			wrong = append(wrong, name+" is missing")
		}
	}
	for name := range got {
		if !slices.Contains(e.metrics, name) {
			wrong = append(wrong, fmt.Sprintf("%q is not asked of the scorer: name it under secondary, or print it no more", name))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("metrics: %s", strings.Join(wrong, "; "))
}

func (e extraction) checkCases(got []ledger.CaseScore) error {
	if len(got) == 0 {
		if e.byCase {
			return errors.New(`cases: none, and a sealed split is judged case by case: print "cases": [{"id": "the file's name", "score": 1}, …] beside "metrics"`)
		}
		return nil
	}
	known, seen := map[string]bool{}, map[string]bool{}
	for _, id := range e.ids {
		known[id] = true
	}
	for _, c := range got {
		if !known[c.ID] {
			return fmt.Errorf("cases: %q is no case of this split", c.ID)
		}
		if seen[c.ID] {
			return fmt.Errorf("cases: %q stands there twice", c.ID)
		}
		seen[c.ID] = true
	}
	if len(seen) != len(e.ids) {
		return fmt.Errorf("cases: %d of %d have a score, all or none must", len(seen), len(e.ids))
	}
	return nil
}

// parseScores reads {"metrics": {name: number}, "cases": [{"id": …, "score":
// number}]}: one object, nothing beside it, no other key, none twice.
func parseScores(data []byte) (scores, error) {
	if !utf8.Valid(data) {
		return scores{}, errors.New("the scorer's output is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var s scores
	err := object(d, "the scorer's output", func(key string) (err error) {
		switch key {
		case "metrics":
			s.metrics, err = parseMetrics(d)
		case "cases":
			s.cases, err = parseCases(d)
		default:
			err = fmt.Errorf("unknown key %q: metrics and cases are known", key)
		}
		return err
	})
	if err != nil {
		return scores{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return scores{}, errors.New("text after the object: the scorer must print one JSON object and nothing else on stdout")
	}
	if s.metrics == nil {
		return scores{}, errors.New(`key "metrics" is missing`)
	}
	return s, nil
}

func parseMetrics(d *json.Decoder) (map[string]float64, error) {
	metrics := map[string]float64{}
	err := object(d, "metrics", func(key string) error {
		v, err := number(d)
		if err != nil {
			return fmt.Errorf("metric %q: %w", key, err)
		}
		metrics[key] = v
		return nil
	})
	return metrics, err
}

func parseCases(d *json.Decoder) ([]ledger.CaseScore, error) {
	if err := delim(d, '[', "cases"); err != nil {
		return nil, err
	}
	var cases []ledger.CaseScore
	for d.More() {
		c, err := parseCase(d)
		if err != nil {
			return nil, fmt.Errorf("cases[%d]: %w", len(cases), err)
		}
		cases = append(cases, c)
	}
	return cases, delim(d, ']', "cases")
}

func parseCase(d *json.Decoder) (ledger.CaseScore, error) {
	var c ledger.CaseScore
	keys := 0
	err := object(d, "a case", func(key string) (err error) {
		keys++
		switch key {
		case "id":
			c.ID, err = text(d)
		case "score":
			c.Score, err = number(d)
		default:
			err = fmt.Errorf("unknown key %q: id and score are known", key)
		}
		return err
	})
	if err == nil && keys != 2 {
		err = errors.New("id and score are both needed")
	}
	return c, err
}

// object reads an object and calls value once per key, which then reads the
// value. A key that comes twice is an error.
func object(d *json.Decoder, what string, value func(key string) error) error {
	if err := delim(d, '{', what); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := text(d)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if seen[key] {
			return fmt.Errorf("%s: key %q stands there twice", what, key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return delim(d, '}', what)
}

func delim(d *json.Decoder, want json.Delim, what string) error {
	t, err := token(d)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if t != want {
		return fmt.Errorf("%s: %v where %v is due", what, t, want)
	}
	return nil
}

func text(d *json.Decoder) (string, error) {
	t, err := token(d)
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%v is not a string", t)
	}
	return s, nil
}

func number(d *json.Decoder) (float64, error) {
	t, err := token(d)
	if err != nil {
		return 0, err
	}
	n, ok := t.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v is not a number", t)
	}
	return finite(n.String())
}

func token(d *json.Decoder) (json.Token, error) {
	t, err := d.Token()
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the output ends too early")
	}
	return t, err
}

// finite reads a decimal number: no NaN, no infinity, no hexadecimal, no
// underscores, nothing that overflows.
func finite(s string) (float64, error) {
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, fmt.Errorf("%q is not a finite decimal number", s)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a finite decimal number", s)
	}
	if v == 0 {
		return 0, nil // never -0, which would be written otherwise than 0
	}
	return v, nil
}
