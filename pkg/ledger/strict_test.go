package ledger

import (
	"bytes"
	"os"
	"reflect"
	"testing"
)

// TestStrictTakesWhatIsWritten holds that the fast decoder knows every shape of
// the events that it lists, filled or empty: none falls back to the slow one.
func TestStrictTakesWhatIsWritten(t *testing.T) {
	listed := 0
	for kind := range shapes() {
		data, ok := reflect.New(kind).Interface().(Data)
		if !ok {
			continue // the front
		}
		listed++
		for depth := range 3 {
			fill(reflect.ValueOf(data).Elem(), depth)
			text, err := (Event{Prev: ZeroHash, Run: "speedup", Data: data}).Format()
			if err != nil {
				t.Fatal(err)
			}
			got, ok := new(strict).event(text)
			want, err := compared(text)
			if !ok || err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, filled to depth %d: %v, %+v, want %+v (%v)\n%s", kind, depth, ok, got.Data, want.Data, err, text)
			}
		}
	}
	if listed != len(shapes())-1 {
		t.Errorf("%d shapes are of events, want all but that of the front, of %d", listed, len(shapes()))
	}
}

// fill sets every field to something, in pointers, slices and maps too.
func fill(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), depth, depth))
		for i := range depth {
			fill(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range depth {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(string(rune('a' + i)))
			fill(value, depth)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString([]string{"", "plain <&> '/'", "q\"\\\n\x01\u2028é\ufffd"}[depth])
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat([]float64{0, 0.1, -1.5e-9}[depth])
	}
}

// FuzzStrict holds that the fast decoder takes nothing that the slow one
// refuses, and reads in it what the slow one reads.
func FuzzStrict(f *testing.F) {
	for kind := range shapes() {
		data, ok := reflect.New(kind).Interface().(Data)
		for depth := range 3 {
			if !ok {
				break
			}
			fill(reflect.ValueOf(data).Elem(), depth)
			text, err := (Event{Prev: ZeroHash, Run: "speedup", Data: data}).Format()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, 0, byte(0))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, at int, b byte) {
		if n := len(text); n > 0 { // most lines must stay nearly right to say anything
			text = bytes.Clone(text)
			text[(at%n+n)%n] ^= b
		}
		got, ok := new(strict).event(text)
		if !ok {
			return
		}
		if want, err := compared(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %+v, want %+v (%v)", text, got.Data, want.Data, err)
		}
	})
}

// TestStrictEveryFlip spoils every bit of a line of every shape.
func TestStrictEveryFlip(t *testing.T) {
	for kind := range shapes() {
		data, ok := reflect.New(kind).Interface().(Data)
		if !ok {
			continue
		}
		fill(reflect.ValueOf(data).Elem(), 1)
		text, err := (Event{Prev: ZeroHash, Run: "speedup", Data: data}).Format()
		if err != nil {
			t.Fatal(err)
		}
		step := 3 // every position of a byte has its turn
		if os.Getenv("CI") == "true" {
			step = 1
		}
		for bit := 0; bit < 8*len(text); bit += step {
			spoilt := bytes.Clone(text)
			spoilt[bit/8] ^= 1 << (bit % 8)
			got, ok := new(strict).event(spoilt)
			want, err := compared(spoilt)
			if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
				t.Errorf("%s, bit %d of byte %d: %v, want %v\n%s", kind, bit%8, bit/8, ok, err, spoilt)
			}
		}
	}
}
