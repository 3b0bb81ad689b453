package hook

import "strings"

// command is one simple command of a shell script: its words without quotes,
// and the files that its output is sent to.
type command struct {
	words  []string
	writes []string
}

// maxNesting bounds how deep command substitutions are followed.
const maxNesting = 8

// splitCommands takes a shell script apart into its simple commands, those in
// substitutions and subshells included. It expands nothing and refuses
// nothing: it is for recognising what is plainly written.
func splitCommands(script string) []command { return splitNested(script, 0) }

func splitNested(script string, depth int) []command {
	if depth > maxNesting {
		return nil
	}
	s := splitter{text: script, depth: depth}
	for s.at < len(s.text) {
		s.step()
	}
	s.endCommand()
	return s.out
}

type splitter struct {
	text  string
	at    int
	depth int

	word   strings.Builder
	inWord bool
	target bool // the word is the target of a redirection
	now    command
	out    []command
}

func (s *splitter) step() {
	c := s.text[s.at]
	switch c {
	case '\'':
		s.quoted('\'')
	case '"':
		s.quoted('"')
	case '\\':
		s.escape()
	case '`':
		s.substitution(s.at+1, s.find('`', s.at+1))
	case '$':
		s.dollar()
	case ' ', '\t':
		s.endWord()
		s.at++
	case '\n', ';', '|', '&', '(', ')':
		s.separator(c)
	case '>':
		s.redirect()
	case '#':
		s.comment()
	default:
		s.add(s.text[s.at : s.at+1])
		s.at++
	}
}

func (s *splitter) add(text string) {
	s.word.WriteString(text)
	s.inWord = true
}

func (s *splitter) endWord() {
	if !s.inWord {
		return
	}
	if s.target {
		s.now.writes = append(s.now.writes, s.word.String())
	} else {
		s.now.words = append(s.now.words, s.word.String())
	}
	s.word.Reset()
	s.inWord, s.target = false, false
}

func (s *splitter) endCommand() {
	s.endWord()
	s.target = false
	if len(s.now.words)+len(s.now.writes) > 0 {
		s.out = append(s.out, s.now)
	}
	s.now = command{}
}

// separator ends a command, save in ">&" and "&>", which redirect.
func (s *splitter) separator(c byte) {
	if c == '&' && s.at+1 < len(s.text) && s.text[s.at+1] == '>' {
		s.at++
		s.redirect()
		return
	}
	s.endCommand()
	s.at++
}

func (s *splitter) redirect() {
	if strings.Trim(s.word.String(), "0123456789") == "" {
		s.word.Reset() // the number of a descriptor
		s.inWord = false
	}
	s.endWord()
	for s.at < len(s.text) && strings.IndexByte(">|&", s.text[s.at]) >= 0 {
		s.at++
	}
	s.target = true
}

func (s *splitter) comment() {
	if s.inWord {
		s.add("#")
		s.at++
		return
	}
	end := strings.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		end = len(s.text) - s.at
	}
	s.at += end
}

func (s *splitter) escape() {
	s.at++
	if s.at == len(s.text) {
		return
	}
	if s.text[s.at] != '\n' {
		s.add(s.text[s.at : s.at+1])
	}
	s.at++
}

// quoted reads up to the closing quote, following substitutions in "…".
func (s *splitter) quoted(quote byte) {
	s.inWord = true
	for s.at++; s.at < len(s.text); {
		c := s.text[s.at]
		switch {
		case c == quote:
			s.at++
			return
		case quote == '"' && c == '\\':
			s.escape()
		case quote == '"' && c == '$':
			s.dollar()
		case quote == '"' && c == '`':
			s.substitution(s.at+1, s.find('`', s.at+1))
		default:
			s.add(s.text[s.at : s.at+1])
			s.at++
		}
	}
}

// dollar reads "$(…)" as commands of its own and anything else as text.
func (s *splitter) dollar() {
	if !strings.HasPrefix(s.text[s.at:], "$(") {
		s.add("$")
		s.at++
		return
	}
	open := 1
	end := s.at + 2
	for end < len(s.text) {
		switch s.text[end] {
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 {
			break
		}
		end++
	}
	s.substitution(s.at+2, end)
}

// find returns where c stands next, the end if nowhere.
func (s *splitter) find(c byte, from int) int {
	if i := strings.IndexByte(s.text[min(from, len(s.text)):], c); i >= 0 {
		return from + i
	}
	return len(s.text)
}

func (s *splitter) substitution(from, to int) {
	from = min(from, to)
	s.out = append(s.out, splitNested(s.text[from:to], s.depth+1)...)
	s.add("$")
	s.at = min(to+1, len(s.text))
}
