package contract

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// schemaKeys returns the key paths that a schema names, "a.b" and "c[].d".
func schemaKeys(schema map[string]any, path string) []string {
	var out []string
	properties, _ := schema["properties"].(map[string]any)
	for key, value := range properties {
		at := strings.TrimPrefix(path+"."+key, ".")
		out = append(out, at)
		out = append(out, schemaKeys(value.(map[string]any), at)...)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		out = append(out, schemaKeys(items, path+"[]")...)
	}
	choices, _ := schema["oneOf"].([]any)
	for _, one := range choices {
		out = append(out, schemaKeys(one.(map[string]any), path)...)
	}
	slices.Sort(out)
	return out
}

// draftWith returns a draft that holds a value at a key path and nothing else.
func draftWith(path string) string {
	open, shut := "", ""
	for _, part := range strings.Split(path, ".") {
		key, isList := strings.CutSuffix(part, "[]")
		open, shut = open+"{"+key+": ", "}"+shut
		if isList {
			open, shut = open+"[", "]"+shut
		}
	}
	return open + "0" + shut
}

// TestSchemaAndParserKnowTheSameKeys asks the parser about every key of the
// schema, and about one that is not in it beside each.
func TestSchemaAndParserKnowTheSameKeys(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := schemaKeys(schema, "")
	if len(keys) < 60 {
		t.Fatalf("%d keys", len(keys))
	}
	known := map[string]bool{}
	for _, path := range keys {
		known[path] = true
		if says(draftWith(path), "unknown key") {
			t.Errorf("the parser does not know %s", path)
		}
		if !says(draftWith(path+"_"), "unknown key") {
			t.Errorf("the parser knows %s_", path)
		}
	}
	// Whatever the parser reads in the full drafts stands in the schema.
	for _, name := range []string{"spelling.yml", "least.yml"} {
		n := (&reader{}).root(read(t, name), maxDraft, draftFields())
		for _, path := range nodeKeys(n, "") {
			if !known[path] {
				t.Errorf("%s: the schema does not know %s", name, path)
			}
		}
	}
}

func nodeKeys(n *node, path string) []string {
	var out []string
	for _, child := range n.children {
		at := path + "[]"
		if n.field.kind == object {
			at = strings.TrimPrefix(path+"."+child.field.name, ".")
			out = append(out, at)
		}
		if child.field.kind == object || child.field.kind == list {
			out = append(out, nodeKeys(child, at)...)
		}
	}
	return out
}

func says(draft, what string) bool {
	_, err := Parse("contract.yml", []byte(draft))
	var faults *Faults
	return errors.As(err, &faults) && slices.ContainsFunc(faults.List, func(f Fault) bool { return strings.Contains(f.Message, what) })
}

func TestSchemaGolden(t *testing.T) { golden(t, "schema.golden.json", Schema()) }
