// Command cut takes out of GitHub's description of its REST API what the test
// forge serves, with all that it refers to and without prose:
//
//	npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
//	go run cut.go package/generated/api.github.com.json > openapi.json.gz
//
// The description is MIT-licensed: see LICENSE.octokit beside this file.
package main

import (
	"compress/gzip"
	"encoding/json"
	"log"
	"os"
	"strings"
)

const repo = "/repos/{owner}/{repo}"

// operations are what is kept: methods by path.
var operations = map[string]string{
	"/user": "get",
	repo:    "get",
	repo + "/collaborators/{username}/permission":                                           "get",
	repo + "/check-runs":                                                                    "post",
	repo + "/check-runs/{check_run_id}":                                                     "get patch",
	repo + "/check-runs/{check_run_id}/annotations":                                         "get",
	repo + "/commits/{ref}/check-runs":                                                      "get",
	repo + "/statuses/{sha}":                                                                "post",
	repo + "/dispatches":                                                                    "post",
	repo + "/actions/workflows/{workflow_id}":                                               "get",
	repo + "/actions/workflows/{workflow_id}/enable":                                        "put",
	repo + "/actions/workflows/{workflow_id}/dispatches":                                    "post",
	repo + "/actions/workflows/{workflow_id}/runs":                                          "get",
	repo + "/actions/runs":                                                                  "get",
	repo + "/actions/runs/{run_id}":                                                         "get",
	repo + "/actions/runs/{run_id}/attempts/{attempt_number}":                               "get",
	repo + "/actions/runs/{run_id}/cancel":                                                  "post",
	repo + "/actions/runs/{run_id}/rerun":                                                   "post",
	repo + "/actions/permissions":                                                           "get put",
	repo + "/actions/permissions/workflow":                                                  "get put",
	repo + "/actions/secrets":                                                               "get",
	repo + "/actions/organization-secrets":                                                  "get",
	repo + "/environments":                                                                  "get",
	repo + "/environments/{environment_name}":                                               "get put",
	repo + "/environments/{environment_name}/secrets":                                       "get",
	repo + "/environments/{environment_name}/deployment-branch-policies":                    "get post",
	repo + "/environments/{environment_name}/deployment-branch-policies/{branch_policy_id}": "delete",
	repo + "/rulesets":                                                                      "get post",
	repo + "/rulesets/{ruleset_id}":                                                         "get put delete",
	repo + "/rules/branches/{branch}":                                                       "get",
	repo + "/keys":                                                                          "get post",
	repo + "/keys/{key_id}":                                                                 "get delete",
	repo + "/branches/{branch}/protection":                                                  "get",
	repo + "/git/matching-refs/{ref}":                                                       "get",
	repo + "/contents/{path}":                                                               "get",
	repo + "/issues/{issue_number}/comments":                                                "get post",
	repo + "/issues/comments/{comment_id}":                                                  "get patch",
	repo + "/pulls":                                                                         "get post",
	repo + "/pulls/{pull_number}":                                                           "get patch",
}

func main() {
	log.SetFlags(0)
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(data, &whole); err != nil {
		log.Fatal(err)
	}
	paths := map[string]any{}
	for path, methods := range operations {
		from, ok := whole["paths"].(map[string]any)[path].(map[string]any)
		if !ok {
			log.Fatalf("no path %s", path)
		}
		item := map[string]any{}
		for _, m := range strings.Fields(methods) {
			op, ok := from[m].(map[string]any)
			if !ok {
				log.Fatalf("no operation %s %s", m, path)
			}
			item[m] = operation(op)
		}
		paths[path] = item
	}
	out := map[string]any{
		"openapi": whole["openapi"], "info": whole["info"], "paths": paths,
		"servers": []any{map[string]any{"url": "/api/v3"}},
	}
	out["components"] = closure(whole["components"].(map[string]any), paths)
	zip, err := gzip.NewWriterLevel(os.Stdout, gzip.BestCompression)
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(prose(out, false))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := zip.Write(text); err != nil {
		log.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		log.Fatal(err)
	}
}

// operation drops what is for people, and the examples of requests.
func operation(op map[string]any) map[string]any {
	for key := range op {
		switch key {
		case "operationId", "parameters", "requestBody", "responses":
		default:
			delete(op, key)
		}
	}
	if body, ok := op["requestBody"].(map[string]any); ok {
		for _, content := range body["content"].(map[string]any) {
			delete(content.(map[string]any), "examples")
			delete(content.(map[string]any), "example")
		}
	}
	return op
}

// closure takes along what v refers to, and what that refers to.
func closure(all map[string]any, v any) map[string]any {
	kept := map[string]any{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && strings.HasPrefix(ref, "#/components/") {
				kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
				if kept[kind] == nil {
					kept[kind] = map[string]any{}
				}
				if kept[kind].(map[string]any)[name] == nil {
					kept[kind].(map[string]any)[name] = all[kind].(map[string]any)[name]
					walk(all[kind].(map[string]any)[name])
				}
			}
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	return kept
}

// prose drops descriptions and the examples inside schemas; the examples of
// answers stay, the forge makes its answers of them.
func prose(v any, data bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = prose(v[i], data)
		}
	case map[string]any:
		for key, x := range v {
			_, text := x.(string)
			switch {
			case data:
			case key == "description" && text && v["content"] == nil && v["headers"] == nil && !isResponse(v), key == "example" && v["schema"] == nil,
				strings.HasPrefix(key, "x-"), key == "externalDocs":
				delete(v, key)
				continue
			case key == "description" && text:
				v[key] = ""
			}
			v[key] = prose(v[key], data || key == "value" || key == "example")
		}
	}
	return v
}

// isResponse tells a response without content, whose description is required.
func isResponse(v map[string]any) bool { return len(v) == 1 }
