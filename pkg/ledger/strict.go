package ledger

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
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

// strict decodes lines. Where met is made, the strings that were met are given
// out again: the lines of a run name few commits over and over. It is not for
// concurrent use.
type strict struct{ met map[string]string }

// shapes are those of a line's front and of the events that every attempt has.
var shapes = sync.OnceValue(func() map[reflect.Type]shape {
	out := map[reflect.Type]shape{}
	for _, v := range []any{line{}, Prepared{}, Committed{}, Started{}, Evaluated{}, Decided{}, RolledBack{}, Finalized{}, Published{}} {
		out[reflect.TypeOf(v)] = shapeOf(reflect.TypeOf(v))
	}
	return out
})

// parse is ParseEvent.
func (s *strict) parse(text []byte) (Event, error) {
	if e, ok := s.event(text); ok {
		return e, nil
	}
	return compared(text)
}

// event reads a line, newline included.
func (s *strict) event(text []byte) (e Event, ok bool) {
	var l line
	rest, ok := fields(s, text, reflect.ValueOf(&l).Elem())
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
	v := reflect.ValueOf(data).Elem()
	read, ok := shapes()[v.Type()]
	if !ok {
		return e, false
	}
	rest, ok = read(s, rest, v)
	return Event{Seq: l.Seq, Prev: l.Prev, Time: l.Time, Run: l.Run, Iteration: l.Iteration, Data: data}, ok && string(rest) == "}\n"
}

// fields reads all of a line's front but its end.
func fields(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
	end := bytes.Index(text, []byte(dataKey))
	if end < 0 {
		return nil, false
	}
	front := append(text[:end:end], '}')
	rest, ok := shapes()[v.Type()](s, front, v)
	return text[end:], ok && len(rest) == 0
}

// shapeOf gives the shape of a type that a line may hold.
func shapeOf(t reflect.Type) shape {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return timeShape
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return nothing
	}
	switch t.Kind() {
	case reflect.Struct:
		return structShape(t)
	case reflect.Pointer:
		return pointerShape(t)
	case reflect.Slice:
		return sliceShape(t)
	case reflect.Map:
		return mapShape(t)
	case reflect.String:
		return stringShape
	case reflect.Bool:
		return boolShape
	case reflect.Int, reflect.Int64:
		return intShape
	case reflect.Float64:
		return floatShape
	}
	return nothing
}

// nothing is the shape of what has none.
func nothing(*strict, []byte, reflect.Value) ([]byte, bool) { return nil, false }

// field is one key of an object and what stands behind it.
type field struct {
	lead  string // the key, with what stands before and behind it
	index []int
	shape shape
}

func structShape(t reflect.Type) shape {
	var all []field
	if !collect(t, nil, &all) || len(all) == 0 {
		return nothing
	}
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		for i := range all {
			f := &all[i]
			if len(text) < len(f.lead) || string(text[:len(f.lead)]) != f.lead {
				return nil, false
			}
			var ok bool
			if text, ok = f.shape(s, text[len(f.lead):], v.FieldByIndex(f.index)); !ok {
				return nil, false
			}
		}
		return after(text, '}')
	}
}

// collect lists the keys of a struct in their order, those of embedded structs
// in their place; ok is false where the encoder has a rule not known here.
func collect(t reflect.Type, above []int, all *[]field) (ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(above[:len(above):len(above)], i)
		tag := f.Tag.Get("json")
		if f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct {
			if !collect(f.Type, index, all) {
				return false
			}
			continue
		}
		if !f.IsExported() || tag == "" || tag == "-" || strings.Contains(tag, ",") {
			return false
		}
		lead := `,"`
		if len(*all) == 0 {
			lead = `{"`
		}
		*all = append(*all, field{lead + tag + `":`, index, shapeOf(f.Type)})
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

func pointerShape(t reflect.Type) shape {
	inner := shapeOf(t.Elem())
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		if rest, ok := null(text); ok {
			return rest, true
		}
		p := reflect.New(t.Elem())
		v.Set(p)
		return inner(s, text, p.Elem())
	}
}

func sliceShape(t reflect.Type) shape {
	if t.Elem().Kind() == reflect.Uint8 {
		return nothing // the encoder writes bytes as base64
	}
	inner := shapeOf(t.Elem())
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		if rest, ok := null(text); ok {
			return rest, true
		}
		text, ok := after(text, '[')
		v.Set(reflect.MakeSlice(t, 0, 0))
		for n := 0; ok; n++ {
			if rest, end := after(text, ']'); end {
				return rest, true
			}
			if n > 0 {
				if text, ok = after(text, ','); !ok {
					break
				}
			}
			if n == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(n + 1)
			v.Index(n).SetZero()
			text, ok = inner(s, text, v.Index(n))
		}
		return nil, false
	}
}

func mapShape(t reflect.Type) shape {
	if t.Key().Kind() != reflect.String {
		return nothing
	}
	inner := shapeOf(t.Elem())
	return func(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
		if rest, ok := null(text); ok {
			return rest, true
		}
		text, ok := after(text, '{')
		v.Set(reflect.MakeMap(t))
		before := ""
		for n := 0; ok; n++ {
			if rest, end := after(text, '}'); end {
				return rest, true
			}
			if n > 0 {
				if text, ok = after(text, ','); !ok {
					break
				}
			}
			var key string
			if key, text, ok = s.text(text); !ok || n > 0 && key <= before {
				break
			}
			before = key
			if text, ok = after(text, ':'); !ok {
				break
			}
			value := reflect.New(t.Elem()).Elem()
			if text, ok = inner(s, text, value); ok {
				v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), value)
			}
		}
		return nil, false
	}
}

func stringShape(s *strict, text []byte, v reflect.Value) ([]byte, bool) {
	value, rest, ok := s.text(text)
	if ok {
		v.SetString(value)
	}
	return rest, ok
}

// text reads a string. One with escapes or beyond ASCII is decoded and written
// again.
func (s *strict) text(text []byte) (value string, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return "", nil, false
	}
	plain := true
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' && plain:
			return s.intern(text[1:i]), text[i+1:], true
		case c == '"':
			if json.Unmarshal(text[:i+1], &value) != nil {
				return "", nil, false
			}
			again, err := marshal(value)
			return value, text[i+1:], err == nil && bytes.Equal(again, text[:i+1])
		case c == '\\':
			plain = false
			i++
		case c < ' ' || c > '~':
			plain = false
		}
	}
	return "", nil, false
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

func boolShape(_ *strict, text []byte, v reflect.Value) ([]byte, bool) {
	if rest, ok := bytes.CutPrefix(text, []byte("true")); ok {
		v.SetBool(true)
		return rest, true
	}
	return bytes.CutPrefix(text, []byte("false"))
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

func intShape(_ *strict, text []byte, v reflect.Value) ([]byte, bool) {
	n := number(text)
	value, err := strconv.ParseInt(string(text[:n]), 10, 64)
	if err != nil {
		return nil, false
	}
	var again [20]byte
	if v.OverflowInt(value) || !bytes.Equal(strconv.AppendInt(again[:0], value, 10), text[:n]) {
		return nil, false
	}
	v.SetInt(value)
	return text[n:], true
}

func floatShape(_ *strict, text []byte, v reflect.Value) ([]byte, bool) {
	n := number(text)
	value, err := strconv.ParseFloat(string(text[:n]), 64)
	if err != nil {
		return nil, false
	}
	var again [32]byte
	if !bytes.Equal(appendFloat(again[:0], value), text[:n]) {
		return nil, false
	}
	v.SetFloat(value)
	return text[n:], true
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
	var value time.Time
	if value.UnmarshalJSON(text[:end]) != nil {
		return nil, false
	}
	again, err := value.MarshalJSON()
	if err != nil || !bytes.Equal(again, text[:end]) {
		return nil, false
	}
	v.Set(reflect.ValueOf(value))
	return text[end:], true
}
