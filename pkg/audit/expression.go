package audit

import (
	"regexp"
	"sync"
)

// expression is a regular expression that is compiled when it is first used.
// There are some fifty of them, and every start of the program would pay for
// all: so does the init of every sandbox.
type expression struct {
	text    string
	compile func() *regexp.Regexp
}

// expr is regexp.MustCompile, later. A test compiles every rule's.
func expr(text string) *expression {
	return &expression{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (e *expression) String() string { return e.text }

func (e *expression) MatchString(s string) bool { return e.compile().MatchString(s) }

func (e *expression) FindStringSubmatch(s string) []string { return e.compile().FindStringSubmatch(s) }

func (e *expression) FindAllString(s string, n int) []string { return e.compile().FindAllString(s, n) }

func (e *expression) FindAllStringIndex(s string, n int) [][]int {
	return e.compile().FindAllStringIndex(s, n)
}

func (e *expression) FindAllStringSubmatch(s string, n int) [][]string {
	return e.compile().FindAllStringSubmatch(s, n)
}

func (e *expression) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return e.compile().FindAllStringSubmatchIndex(s, n)
}

func (e *expression) ReplaceAllString(s, with string) string {
	return e.compile().ReplaceAllString(s, with)
}

func (e *expression) ReplaceAllStringFunc(s string, with func(string) string) string {
	return e.compile().ReplaceAllStringFunc(s, with)
}

func (e *expression) Split(s string, n int) []string { return e.compile().Split(s, n) }
