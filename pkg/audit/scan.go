package audit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token or a piece of text is.
type kind uint8

const (
	identKind kind = iota
	stringKind
	numberKind
	punctKind
	commentKind
	proseKind
)

// token is one token of source. A literal or comment that spans lines gives a
// token a line.
type token struct {
	kind     kind
	text     string // without quotes or comment marks, escapes untouched
	raw      bool   // a string in which a backslash is a backslash
	line     int    // from 1
	pos, end int    // bytes of the source, quotes included
}

// scanner cuts source into tokens of the lines that keep wants.
type scanner struct {
	family
	src    string
	i      int
	line   int
	keep   func(line int) bool
	tokens []token
	// failed counts the quotes without a partner on line failedOn. Each costs a
	// look at the rest of the line; after maxFailed of them quotes there are
	// punctuation, so that a hostile line costs linear time.
	failed, failedOn int
}

const maxFailed = 64

// scan is total: whatever the bytes, it ends after one pass.
func scan(f family, src string, keep func(line int) bool) []token {
	s := &scanner{family: f, src: src, line: 1, keep: keep}
	for s.i < len(s.src) {
		s.next()
	}
	return s.tokens
}

func (s *scanner) next() {
	switch c := s.src[s.i]; {
	case c == '\n':
		s.line++
		s.i++
	case c == ' ' || c == '\t' || c == '\r':
		s.i++
	case s.comment() || s.rawString() || s.tripleString() || s.quoted() || s.regexp():
	case isDigit(c) || c == '.' && s.i+1 < len(s.src) && isDigit(s.src[s.i+1]):
		s.number()
	default:
		s.wordOrPunct()
	}
}

// emit adds one token, cut into lines, and moves behind end.
func (s *scanner) emit(k kind, from, to, end int, raw bool) {
	if strings.IndexByte(s.src[s.i:end], '\n') < 0 {
		if s.keep(s.line) {
			s.tokens = append(s.tokens, token{k, s.src[from:to], raw, s.line, s.i, end})
		}
		s.i = end
		return
	}
	line, pos := s.line, from
	for text := range strings.SplitSeq(s.src[from:to], "\n") {
		if s.keep(line) {
			t := token{kind: k, text: strings.TrimSuffix(text, "\r"), raw: raw, line: line, pos: pos, end: pos + len(text)}
			if pos == from {
				t.pos = s.i
			}
			if pos+len(text) == to {
				t.end = end
			}
			s.tokens = append(s.tokens, t)
		}
		line++
		pos += len(text) + 1
	}
	s.line += strings.Count(s.src[s.i:end], "\n")
	s.i = end
}

// until finds mark after from, or the end of the source.
func (s *scanner) until(from int, mark string) (to, end int) {
	if k := strings.Index(s.src[from:], mark); k >= 0 {
		return from + k, from + k + len(mark)
	}
	return len(s.src), len(s.src)
}

func (s *scanner) comment() bool {
	rest := s.src[s.i:]
	for _, b := range s.block {
		if strings.HasPrefix(rest, b[0]) {
			from := s.i + len(b[0])
			to, end := s.until(from, b[1])
			s.emit(commentKind, from, to, end, true)
			return true
		}
	}
	for _, mark := range s.family.line {
		if strings.HasPrefix(rest, mark) {
			from := s.i + len(mark)
			to, _ := s.until(from, "\n")
			s.emit(commentKind, from, to, to, true)
			return true
		}
	}
	return false
}

// rawString takes r"…", r#"…"# and R"x(…)x".
func (s *scanner) rawString() bool {
	c := s.src[s.i]
	if !s.rawHash || c != 'r' && c != 'R' || s.i > 0 && wordRune(rune(s.src[s.i-1])) {
		return false
	}
	k := s.i + 1
	if c == 'r' {
		for k < len(s.src) && k < s.i+20 && s.src[k] == '#' {
			k++
		}
		if k == len(s.src) || s.src[k] != '"' {
			return false
		}
		to, end := s.until(k+1, `"`+s.src[s.i+1:k])
		s.emit(stringKind, k+1, to, end, true)
		return true
	}
	open := strings.IndexByte(s.src[k:min(len(s.src), k+20)], '(')
	if k == len(s.src) || s.src[k] != '"' || open < 0 {
		return false
	}
	to, end := s.until(k+open+1, ")"+s.src[k+1:k+open]+`"`)
	s.emit(stringKind, k+open+1, to, end, true)
	return true
}

func (s *scanner) tripleString() bool {
	for _, q := range s.triple {
		if strings.HasPrefix(s.src[s.i:], q) {
			to, end := s.until(s.i+3, q)
			s.emit(stringKind, s.i+3, to, end, false)
			return true
		}
	}
	return false
}

// quoted takes a string that ends on its line, or one in backticks.
func (s *scanner) quoted() bool {
	q := s.src[s.i]
	if !s.code || strings.IndexByte(s.quotes, q) < 0 || s.tired() {
		return false
	}
	if q == '`' {
		to, end := s.until(s.i+1, "`")
		s.emit(stringKind, s.i+1, to, end, true)
		return true
	}
	end := closing(s.src, s.i+1, q)
	if end < 0 {
		s.failed++
		return false
	}
	s.emit(stringKind, s.i+1, end, end+1, false)
	return true
}

// tired says that too many quotes of this line had no partner.
func (s *scanner) tired() bool {
	if s.failedOn != s.line {
		s.failed, s.failedOn = 0, s.line
	}
	return s.failed >= maxFailed
}

// closing finds the unescaped quote that ends a literal on its line, or -1.
func closing(src string, from int, q byte) int {
	for k := from; k < len(src); k++ {
		switch src[k] {
		case '\\':
			k++
		case '\n':
			return -1
		case q:
			return k
		}
	}
	return -1
}

// regexp takes /…/ where a division cannot stand.
func (s *scanner) regexp() bool {
	if !s.regex || s.src[s.i] != '/' || s.tired() || !s.operandFollows() {
		return false
	}
	class := false
	for k := s.i + 1; k < len(s.src) && s.src[k] != '\n'; k++ {
		switch c := s.src[k]; {
		case c == '\\':
			k++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			s.emit(stringKind, s.i+1, k, k+1, true)
			return true
		}
	}
	s.failed++
	return false
}

// operandFollows looks back over blanks for what calls for an operand.
func (s *scanner) operandFollows() bool {
	before := strings.TrimRight(s.src[max(0, s.i-64):s.i], " \t\r\n")
	if before == "" || strings.IndexByte("(,=:[!&|?{};+-*%~^<>", before[len(before)-1]) >= 0 {
		return true
	}
	for _, word := range []string{"return", "typeof", "case", "in", "of"} {
		if strings.HasSuffix(before, word) && (len(before) == len(word) || !wordRune(rune(before[len(before)-len(word)-1]))) {
			return true
		}
	}
	return false
}

func (s *scanner) number() {
	k := s.i
	hex := strings.HasPrefix(s.src[k:], "0x") || strings.HasPrefix(s.src[k:], "0X")
	for ; k < len(s.src); k++ {
		c := s.src[k]
		sign := (c == '+' || c == '-') && !hex && k > s.i && s.src[k-1]|0x20 == 'e' && k+1 < len(s.src) && isDigit(s.src[k+1])
		dot := c == '.' && k+1 < len(s.src) && isDigit(s.src[k+1])
		apart := c == '\'' && k > s.i && k+1 < len(s.src) && isDigit(s.src[k-1]) && isDigit(s.src[k+1])
		if c != '_' && !wordRune(rune(c)) && !sign && !dot && !apart || c >= utf8.RuneSelf {
			break
		}
	}
	s.emit(numberKind, s.i, k, k, true)
}

func (s *scanner) wordOrPunct() {
	k := s.i
	for k < len(s.src) {
		r, n := utf8.DecodeRuneInString(s.src[k:])
		if r != '_' && !wordRune(r) && !unicode.IsMark(r) && !hidden(r) {
			break
		}
		k += n
	}
	if k > s.i {
		s.emit(identKind, s.i, k, k, true)
		return
	}
	_, n := utf8.DecodeRuneInString(s.src[s.i:])
	s.emit(punctKind, s.i, s.i+n, s.i+n, true)
}
