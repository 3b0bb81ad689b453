package contract

import (
	"bytes"
	"encoding/json"

	"gopkg.in/yaml.v3"
)

// Schema returns the JSON Schema (draft 2020-12) of the draft, for editors. It
// is made from the parser's own table; what goes beyond single values, such as
// patterns that must not overlap, only Parse checks.
func Schema() []byte {
	root := schemaOf(&field{kind: object, fields: draftFields(), doc: "The contract of a research-loop run: what is measured, what may change, when a candidate is kept."})
	root = append(members{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "https://github.com/research-loop/research-loop/contract/v1"},
		{"title", "research-loop contract"},
	}, root...)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic("contract: schema: " + err.Error()) // cannot happen: the table holds plain values
	}
	return b.Bytes()
}

// member is one key of a JSON object whose keys keep their order.
type member struct {
	key   string
	value any
}

type members []member

// MarshalJSON writes the members in order.
func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(one.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func schemaOf(f *field) members {
	var m members
	if f.soon {
		return members{{"description", f.doc + " Not available yet."}, {"not", members{}}}
	}
	if f.doc != "" {
		m = append(m, member{"description", f.doc})
	}
	m = append(m, shapeOf(f)...)
	if f.unset != "" && f.unset != "{}" {
		m = append(m, member{"default", plainValue(f.unset)})
	}
	return m
}

// plainValue returns the JSON value of a YAML scalar.
func plainValue(s string) any {
	var v any
	if err := yaml.Unmarshal([]byte(s), &v); err != nil {
		panic("contract: the default " + s + " is not YAML: " + err.Error()) // cannot happen: the table is fixed
	}
	return v
}

func shapeOf(f *field) members {
	switch f.kind {
	case object:
		if len(f.enum) > 0 {
			return members{{"oneOf", []members{{{"enum", f.enum}}, objectOf(f)}}}
		}
		return objectOf(f)
	case list:
		m := members{{"type", "array"}, {"items", schemaOf(f.item)}, {"uniqueItems", true}}
		if f.need {
			m = append(m, member{"minItems", 1})
		}
		return m
	case table:
		return members{{"type", "object"}, {"additionalProperties", members{{"type", "string"}}}, {"propertyNames", members{{"pattern", variableShape().String()}}}}
	case whole:
		if f.name == "research_loop" {
			return members{{"const", Version}}
		}
		return append(members{{"type", "integer"}}, rangeOf(f)...)
	case number:
		return append(members{{"type", "number"}}, rangeOf(f)...)
	case truth:
		return members{{"type", "boolean"}}
	case choice:
		return members{{"enum", f.enum}}
	case size:
		return members{{"oneOf", []members{{{"type", "integer"}, {"minimum", f.min}}, {{"type", "string"}, {"pattern", sizeShape().String()}}}}}
	case span:
		return members{{"type", "string"}, {"pattern", spanShape().String()}}
	case label:
		return members{{"type", "string"}, {"pattern", labelShape().String()}}
	}
	return members{{"type", "string"}, {"minLength", 1}}
}

func rangeOf(f *field) members {
	if f.max == 0 {
		return nil
	}
	return members{{"minimum", f.min}, {"maximum", f.max}}
}

func objectOf(f *field) members {
	properties, required := members{}, []string{}
	for i := range f.fields {
		child := &f.fields[i]
		properties = append(properties, member{child.name, schemaOf(child)})
		if child.need {
			required = append(required, child.name)
		}
	}
	return members{{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}}
}
