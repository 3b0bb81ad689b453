package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A reading of a journal is little but decoding, so a line is decoded once by a
// decoder that knows the one form: keys in their order, no white space, the
// encoder's own spelling of numbers and strings. It says no to everything else
// and never why: ParseEvent then decodes, writes again and compares, which also
// serves the kinds that are not listed here. What a shape takes is what the
// encoder writes; the fuzz targets hold the one against the other.

// shape decodes one value at the front of text into v and gives what follows
// it; ok is false where the value is not in its one form.
type shape func(s *strict, text []byte, v reflect.Value) (rest []byte, ok bool)

// reader is a shape that needs no reflection.
type reader[V any] func(s *strict, text []byte) (value V, rest []byte, ok bool)

// strict decodes lines, which mostly say what those before them said. Where met
// is made, the strings that were met are given out again: the lines of a run
// name few commits over and over. It is not for concurrent use.
type strict struct {
	met    map[string]string
	places []place
	one    place // for all, where met is not made
}

// place is what is kept of the value that stood last where a shape stands.
// Strings are kept as they are written, in their quotes, and only where what is
// written between those is what they say.
type place struct {
	text string
	keys []string // of a map
	size int      // of a slice
}

// shapes are those of a line, and the number of their places.
type shapes struct {
	front  shape                  // up to the data, without an end
	data   map[reflect.Type]shape // of the events that every attempt has
	places int
}

var known = sync.OnceValue(func() *shapes {
	f := &shapes{data: map[reflect.Type]shape{}}
	f.front = f.fields(reflect.TypeFor[line]())
	for _, data := range []Data{&Prepared{}, &Committed{}, &Started{}, &Evaluated{}, &Decided{}, &RolledBack{}, &Finalized{}, &Published{}} {
		t := reflect.TypeOf(data).Elem()
		f.data[t] = f.of(t)
	}
	return f
})

// at gives a place.
func (s *strict) at(here int) *place {
	if here < len(s.places) {
		return &s.places[here]
	}
	return &s.one
}

// maxCompared is how long a line may be, in bytes, for which it is said where it is
// not in its form: "{}" in a list is decoded into a hundred times as much.
const maxCompared = 1 << 20

// parse is ParseEvent.
func (s *strict) parse(text []byte) (Event, error) {
	e, ok := s.event(text)
	switch {
	case ok:
		return e, nil
	case len(text) > maxCompared && (e.Data == nil || known().data[reflect.TypeOf(e.Data).Elem()] != nil):
		return Event{}, fmt.Errorf("not in the form that this program writes, somewhere in %d bytes: %q…", len(text), excerpt(text))
	}
	return compared(text)
}

// event reads a line, newline included. Where it is not taken, Data says its kind
// alone, and is nil for none.
func (s *strict) event(text []byte) (e Event, ok bool) {
	f := known()
	if s.places == nil && s.met != nil {
		s.places = make([]place, f.places)
	}
	var l line
	rest, ok := f.front(s, text, reflect.ValueOf(&l).Elem())
	if !ok || l.V != Version || l.Seq < 0 || l.Iteration < 0 || l.Time.Location() != time.UTC {
		return e, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(dataKey)); !ok {
		return e, false
	}
	data := newData(l.Event)
	if data == nil {
		return e, false
	}
	e = Event{Seq: l.Seq, Prev: l.Prev, Time: l.Time, Run: l.Run, Iteration: l.Iteration, Data: data}
	v := reflect.ValueOf(data).Elem()
	read, ok := f.data[v.Type()]
	if !ok {
		return e, false
	}
	rest, ok = read(s, rest, v)
	return e, ok && string(rest) == "}\n"
}

// of gives the shape of a type that a line may hold.
func (f *shapes) of(t reflect.Type) shape {
	switch t {
	case reflect.TypeFor[time.Time]():
		return timeShape
	case reflect.TypeFor[*float64]():
		return set(optional(float))
	case reflect.TypeFor[map[string]string]():
		return set(mapOf(f.place(), (*strict).rare))
	case reflect.TypeFor[map[string]float64]():
		return set(mapOf(f.place(), float))
	case reflect.TypeFor[map[string]*bool]():
		return set(mapOf(f.place(), optional(truth)))
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nothing
	}
	switch t.Kind() {
	case reflect.Struct:
		return f.structShape(t)
	case reflect.Pointer:
		return f.pointerShape(t)
	case reflect.Slice:
		return f.sliceShape(t)
	case reflect.String:
		return stringShape(f.place())
	case reflect.Bool:
		return boolShape
	case reflect.Int, reflect.Int64:
		return intShape
	case reflect.Float64:
		return floatShape
	}
	return nothing
}

// place gives one more place.
func (f *shapes) place() int {
	f.places++
	return f.places - 1
}

// nothing is the shape of what has none.
func nothing(*strict, []byte, reflect.Value) ([]byte, bool) { return nil, false }

func (f *shapes) structShape(t reflect.Type) shape {
	inner := f.fields(t)
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		text, ok := inner(s, text, v)
		if !ok {
			return nil, false
		}
		return after(text, '}')
	}
}

// field is one key of an object and what stands behind it.
type field struct {
	lead  string // the key, with what stands before and behind it
	index []int
	shape shape
}

// fields is the shape of a struct without its end.
func (f *shapes) fields(t reflect.Type) shape {
	var all []field
	if !f.collect(t, nil, &all) || len(all) == 0 {
		return nothing
	}
	return func(s *strict, text []byte, v reflect.Value) (_ []byte, ok bool) {
		for i := range all {
			f := &all[i]
			if len(text) < len(f.lead) || string(text[:len(f.lead)]) != f.lead {
				return nil, false
			}
			if text, ok = f.shape(s, text[len(f.lead):], v.FieldByIndex(f.index)); !ok {
				return nil, false
			}
		}
		return text, true
	}
}

// collect lists the keys of a struct in their order, those of embedded structs
// in their place; ok is false where the encoder has a rule not known here.
func (f *shapes) collect(t reflect.Type, above []int, all *[]field) (ok bool) {
	for i := range t.NumField() {
		member := t.Field(i)
		index := append(above[:len(above):len(above)], i)
		tag := member.Tag.Get("json")
		if member.Anonymous && tag == "" && member.Type.Kind() == reflect.Struct {
			if !f.collect(member.Type, index, all) {
				return false
			}
			continue
		}
		if !member.IsExported() || tag == "" || tag == "-" || strings.Contains(tag, ",") {
			return false
		}
		lead := `,"`
		if len(*all) == 0 {
			lead = `{"`
		}
		*all = append(*all, field{lead + tag + `":`, index, f.of(member.Type)})
	}
	return true
}

// after cuts one byte off the front.
func after(text []byte, b byte) ([]byte, bool) {
	if len(text) == 0 || text[0] != b {
		return nil, false
	}
	return text[1:], true
}

// null cuts a null off the front.
func null(text []byte) ([]byte, bool) { return bytes.CutPrefix(text, []byte("null")) }

func (f *shapes) pointerShape(t reflect.Type) shape {
	inner := f.of(t.Elem())
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		if rest, ok := null(text); ok {
			return rest, true
		}
		p := reflect.New(t.Elem())
		v.Set(p)
		return inner(s, text, p.Elem())
	}
}

// set is the shape of pointers and maps that need no reflection but this.
func set[V any](read reader[V]) shape {
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		value, rest, ok := read(s, text)
		v.Set(reflect.ValueOf(value))
		return rest, ok
	}
}

// optional reads a value or null.
func optional[V any](read reader[V]) reader[*V] {
	return func(s *strict, text []byte) (*V, []byte, bool) {
		if rest, ok := null(text); ok {
			return nil, rest, true
		}
		value, rest, ok := read(s, text)
		return &value, rest, ok
	}
}

// list reads what stands between two brackets, each element by next.
func list(text []byte, brackets string, next func(text []byte) ([]byte, bool)) ([]byte, bool) {
	text, ok := after(text, brackets[0])
	for n := 0; ok; n++ {
		if rest, end := after(text, brackets[1]); end {
			return rest, true
		}
		if n > 0 {
			if text, ok = after(text, ','); !ok {
				break
			}
		}
		text, ok = next(text)
	}
	return nil, false
}

// sliceShape makes room for as many elements as were there last: never for more
// in all than were read.
func (f *shapes) sliceShape(t reflect.Type) shape {
	if t.Elem().Kind() == reflect.Uint8 {
		return nothing // the encoder writes bytes as base64
	}
	inner, empty, here := f.of(t.Elem()), reflect.MakeSlice(t, 0, 0), f.place()
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		if rest, ok := null(text); ok {
			return rest, true
		}
		v.Set(empty)
		n, size := 0, &s.at(here).size
		rest, ok := list(text, "[]", func(text []byte) ([]byte, bool) {
			if n == v.Cap() {
				v.Grow(max(1, *size-n))
			}
			n++
			v.SetLen(n)
			element := v.Index(n - 1)
			element.SetZero()
			return inner(s, text, element)
		})
		*size = n
		return rest, ok
	}
}

// mapOf makes room as sliceShape does.
func mapOf[V any](here int, read reader[V]) reader[map[string]V] {
	return func(s *strict, text []byte) (map[string]V, []byte, bool) {
		if rest, ok := null(text); ok {
			return nil, rest, true
		}
		keys := &s.at(here).keys
		n, before, out := 0, "", make(map[string]V, len(*keys))
		rest, ok := list(text, "{}", func(text []byte) ([]byte, bool) {
			if n == len(*keys) {
				*keys = append(*keys, "")
			}
			key, text, ok := s.text(text, &(*keys)[n], false)
			if !ok || n > 0 && key <= before {
				return nil, false
			}
			n, before = n+1, key
			if text, ok = after(text, ':'); ok {
				out[key], text, ok = read(s, text)
			}
			return text, ok
		})
		*keys = (*keys)[:n]
		return out, rest, ok
	}
}

func stringShape(here int) shape {
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		value, rest, ok := s.text(text, &s.at(here).text, true)
		if ok {
			v.SetString(value)
		}
		return rest, ok
	}
}

// rare reads a string that is not likely to come again.
func (s *strict) rare(text []byte) (string, []byte, bool) {
	last := ""
	return s.text(text, &last, false)
}

// text reads a string. One that is as it was last time is not read again. It is
// kept in last unless it has escapes, and in met if it is shared.
func (s *strict) text(text []byte, last *string, shared bool) (value string, rest []byte, ok bool) {
	if n := len(*last); n > 0 && len(text) >= n && string(text[:n]) == *last {
		return (*last)[1 : n-1], text[n:], true
	}
	if len(text) == 0 || text[0] != '"' {
		return "", nil, false
	}
	end := 1 + literal(text[1:])
	if end == len(text) || text[end] != '"' {
		return escaped(text, end)
	}
	if shared {
		*last = s.intern(text[:end+1])
	} else {
		*last = string(text[:end+1])
	}
	return (*last)[1:end], text[end+1:], true
}

// escaped reads a string with escapes, of which there is none before from. One
// with others than those of newlines, quotes and backslashes is decoded and
// written again.
func escaped(text []byte, from int) (value string, rest []byte, ok bool) {
	var out []byte
	for start, i := 1, from; i < len(text); {
		out = append(out, text[start:i]...)
		switch {
		case text[i] == '"':
			return string(out), text[i+1:], true
		case bytes.HasPrefix(text[i:], []byte(`\n`)):
			out = append(out, '\n')
		case bytes.HasPrefix(text[i:], []byte(`\"`)), bytes.HasPrefix(text[i:], []byte(`\\`)):
			out = append(out, text[i+1])
		default:
			return decoded(text, i)
		}
		start = i + 2
		i = start + literal(text[start:])
	}
	return "", nil, false
}

// decoded reads a string by the standard decoder. It does not end before from.
func decoded(text []byte, from int) (value string, rest []byte, ok bool) {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '"':
			if json.Unmarshal(text[:i+1], &value) != nil {
				return "", nil, false
			}
			again, err := marshal(value)
			return value, text[i+1:], err == nil && bytes.Equal(again, text[:i+1])
		case '\\':
			i++
		}
	}
	return "", nil, false
}

// literal gives how many bytes at the front stand for themselves in a string.
func literal(text []byte) int {
	for n := 0; ; {
		n += printable(text[n:])
		r, size := utf8.DecodeRune(text[n:])
		if size < 2 || r == '\u2028' || r == '\u2029' {
			return n
		}
		n += size
	}
}

// printable gives how many bytes at the front are of ASCII, can be seen and are
// neither quote nor backslash. It looks at eight at a time: other has the
// highest bit of the first byte that is not of these, and none before it.
func printable(text []byte) (n int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(text); n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		quote, slash := w^'"'*each, w^'\\'*each
		if other := ((quote - each) | (slash - each) | (w - ' '*each) | (w + each) | w) & high; other != 0 {
			return n + bits.TrailingZeros64(other)/8
		}
	}
	for n < len(text) && text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\' {
		n++
	}
	return n
}

const (
	maxInterned = 100  // bytes of a string that is likely to come again
	maxMet      = 4096 // strings that are kept for that
)

func (s *strict) intern(text []byte) string {
	if len(text) > maxInterned || s.met == nil {
		return string(text)
	}
	if known, ok := s.met[string(text)]; ok {
		return known
	}
	if len(s.met) >= maxMet {
		clear(s.met)
	}
	value := string(text)
	s.met[value] = value
	return value
}

func boolShape(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
	value, rest, ok := truth(s, text)
	v.SetBool(value)
	return rest, ok
}

func truth(_ *strict, text []byte) (value bool, rest []byte, ok bool) {
	if rest, ok := bytes.CutPrefix(text, []byte("true")); ok {
		return true, rest, true
	}
	rest, ok = bytes.CutPrefix(text, []byte("false"))
	return false, rest, ok
}

// number gives the length of what may be a number at the front.
func number(text []byte) int {
	for i, c := range text {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' {
			return i
		}
	}
	return len(text)
}

// short reads a number of up to 15 bytes that is in its one form and has neither
// sign nor exponent: its digits, of which places stand behind the point.
func short(text []byte) (digits int64, places int, ok bool) {
	n := len(text)
	if n == 0 || n > 15 {
		return 0, 0, false
	}
	point := n
	for i, c := range text {
		switch {
		case '0' <= c && c <= '9':
			digits = 10*digits + int64(c-'0')
		case c == '.' && point == n:
			point = i
		default:
			return 0, 0, false
		}
	}
	if point == 0 || point > 1 && text[0] == '0' || point < n && (point == n-1 || text[n-1] == '0') {
		return 0, 0, false
	}
	return digits, max(n-1-point, 0), true
}

func intShape(_ *strict, text []byte, v reflect.Value) ([]byte, bool) {
	n := number(text)
	value, places, ok := short(text[:n])
	if !ok {
		var err error
		var again [20]byte
		value, err = strconv.ParseInt(string(text[:n]), 10, 64)
		ok = err == nil && bytes.Equal(strconv.AppendInt(again[:0], value, 10), text[:n])
	}
	if !ok || places > 0 || v.OverflowInt(value) {
		return nil, false
	}
	v.SetInt(value)
	return text[n:], true
}

func floatShape(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
	value, rest, ok := float(s, text)
	v.SetFloat(value)
	return rest, ok
}

// float reads a number. Of one with at most 15 digits the quotient is the
// nearest float, both numbers being exact, and no other so short is as near:
// it is what would be written.
func float(_ *strict, text []byte) (value float64, rest []byte, ok bool) {
	n := number(text)
	if digits, places, ok := short(text[:n]); ok {
		if value = float64(digits) / math.Pow10(places); value == 0 || value >= 1e-6 {
			return value, text[n:], true
		}
	}
	value, err := strconv.ParseFloat(string(text[:n]), 64)
	if err != nil {
		return 0, nil, false
	}
	var again [32]byte
	return value, text[n:], bytes.Equal(appendFloat(again[:0], value), text[:n])
}

// appendFloat writes a float as encoding/json does.
func appendFloat(b []byte, f float64) []byte {
	if size := math.Abs(f); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

func timeShape(_ *strict, text []byte, v reflect.Value) ([]byte, bool) {
	end := bytes.IndexByte(text[min(1, len(text)):], '"') + 2
	if end < 2 || end > len(text) || text[0] != '"' {
		return nil, false
	}
	value := v.Addr().Interface().(*time.Time)
	if value.UnmarshalJSON(text[:end]) != nil {
		return nil, false
	}
	var room [40]byte
	again, err := value.AppendText(room[:0])
	return text[end:], err == nil && bytes.Equal(again, text[1:end-1])
}
