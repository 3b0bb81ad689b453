package forgetest

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

//go:embed testdata/openapi.json.gz
var openapi []byte

//go:embed testdata/webhooks.json.gz
var webhooks []byte

// spec is GitHub's description of its API.
type spec struct {
	doc        *openapi3.T
	operations []*operation // the most specific path first
	deliveries map[string]json.RawMessage
}

// operation is one method of one path.
type operation struct {
	key     string // for example "GET /repos/{owner}/{repo}/keys"
	method  string
	path    string
	pattern *regexp.Regexp
	names   []string
	item    *openapi3.PathItem
	op      *openapi3.Operation
}

// parsed is the description as it was read once: loading takes longer than most
// tests that use it.
var parsed = sync.OnceValues(readSpec)

func loadSpec(t testing.TB) *spec {
	t.Helper()
	s, err := parsed()
	if err != nil {
		t.Fatalf("forgetest: GitHub's description: %v", err)
	}
	return s
}

func readSpec() (*spec, error) {
	text, err := unzip(openapi)
	if err != nil {
		return nil, err
	}
	s := &spec{}
	if s.doc, err = openapi3.NewLoader().LoadFromData(text); err != nil {
		return nil, err
	}
	for path, item := range s.doc.Paths.Map() {
		pattern, names := compile(path)
		for method, op := range item.Operations() {
			s.operations = append(s.operations, &operation{method + " " + path, method, path, pattern, names, item, op})
		}
	}
	literal := regexp.MustCompile(`\{[^}]*\}`)
	sort.Slice(s.operations, func(i, j int) bool {
		a, b := s.operations[i], s.operations[j]
		x, y := len(literal.ReplaceAllString(a.path, "")), len(literal.ReplaceAllString(b.path, ""))
		return x > y || x == y && a.key < b.key
	})
	if text, err = unzip(webhooks); err != nil {
		return nil, err
	}
	return s, json.Unmarshal(text, &s.deliveries)
}

func unzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// compile makes a pattern of a path. Names of refs, branches and files hold slashes.
func compile(path string) (*regexp.Regexp, []string) {
	var names []string
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			parts[i] = regexp.QuoteMeta(part)
			continue
		}
		name := strings.Trim(part, "{}")
		names = append(names, name)
		switch name {
		case "ref", "path", "branch":
			parts[i] = "(.+)"
		default:
			parts[i] = "([^/]+)"
		}
	}
	return regexp.MustCompile("^" + strings.Join(parts, "/") + "$"), names
}

// find gives the operation of a request and its path parameters.
func (s *spec) find(method, path string) (*operation, map[string]string) {
	for _, op := range s.operations {
		if op.method != method {
			continue
		}
		if m := op.pattern.FindStringSubmatch(path); m != nil {
			parts := map[string]string{}
			for i, name := range op.names {
				if text, err := url.PathUnescape(m[i+1]); err == nil {
					parts[name] = text
				}
			}
			return op, parts
		}
	}
	return nil, nil
}

func (s *spec) input(op *operation, parts map[string]string, r *http.Request) *openapi3filter.RequestValidationInput {
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: parts,
		Route:   &routers.Route{Spec: s.doc, Path: op.path, PathItem: op.item, Method: op.method, Operation: op.op},
		Options: validation(),
	}
}

// validation names every place and fault, but not the whole schema each time:
// the alternatives of a schema that do not fit are told too, and thrown away.
func validation() *openapi3filter.Options {
	o := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true, IncludeResponseStatus: true}
	o.WithCustomSchemaErrorFunc(func(e *openapi3.SchemaError) string {
		return "/" + strings.Join(e.JSONPointer(), "/") + ": " + e.Reason
	})
	return o
}

// request validates what came in.
func (s *spec) request(op *operation, parts map[string]string, r *http.Request, body []byte) error {
	copied := r.Clone(context.Background())
	copied.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) > 0 && copied.Header.Get("Content-Type") == "" {
		copied.Header.Set("Content-Type", "application/json")
	}
	if copied.ContentLength = int64(len(body)); len(body) == 0 {
		copied.Body = nil
	}
	return openapi3filter.ValidateRequest(context.Background(), s.input(op, parts, copied))
}

// response validates what goes out.
func (s *spec) response(op *operation, parts map[string]string, r *http.Request, status int, body []byte) error {
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: s.input(op, parts, r.Clone(context.Background())), Status: status,
		Header:  http.Header{"Content-Type": {"application/json"}},
		Body:    io.NopCloser(bytes.NewReader(body)),
		Options: validation(),
	})
}

// example gives a copy of the description's own example of an answer: the object,
// or the first one of a list, which an envelope may wrap.
func (s *spec) example(key string, status int) map[string]any {
	for _, op := range s.operations {
		if op.key != key {
			continue
		}
		content := op.op.Responses.Value(strconv.Itoa(status)).Value.Content["application/json"]
		var names []string
		for name := range content.Examples {
			names = append(names, name)
		}
		sort.Strings(names)
		text, err := json.Marshal(content.Examples[names[0]].Value.Value)
		if err != nil {
			panic(err) // it was JSON a moment ago
		}
		var list []map[string]any
		if json.Unmarshal(text, &list) == nil && len(list) > 0 {
			return list[0]
		}
		var one map[string]any
		if err := json.Unmarshal(text, &one); err != nil {
			panic(err)
		}
		return one
	}
	panic("no example of " + key)
}

// with lays fields over an example; a field that is nil stands as null, and one
// that is gone is taken away.
func with(example map[string]any, fields map[string]any) map[string]any {
	for name, value := range fields {
		if value == gone {
			delete(example, name)
			continue
		}
		example[name] = value
	}
	return example
}

// absent marks a field that an answer leaves out.
type absent struct{}

var gone = absent{}
