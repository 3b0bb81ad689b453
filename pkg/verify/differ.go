package verify

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// differ names the first key in which two structs, given by pointers, are written
// differently, and how; "" in none.
func differ(is, want any) (key, was, should string) {
	if reflect.DeepEqual(is, want) { // most often, and much faster
		return "", "", ""
	}
	a, errA := json.Marshal(is)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil {
		return "the record", fmt.Sprint(errA), fmt.Sprint(errB)
	}
	if string(a) == string(b) {
		return "", "", ""
	}
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "the record", excerpt(a), excerpt(b)
	}
	for _, k := range keys(reflect.TypeOf(is).Elem()) {
		if string(x[k]) != string(y[k]) {
			return k, excerpt(x[k]), excerpt(y[k])
		}
	}
	return "the record", excerpt(a), excerpt(b)
}

// keys lists the keys of a struct's JSON, in their order.
func keys(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			out = append(out, keys(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

func excerpt(text []byte) string {
	const most = 200
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
