package forgetest

import (
	"net/http"
	"unicode/utf8"
)

// The rules in this file are those that the description lacks. Each was seen on
// GitHub or is documented beside the description.

// checkRules are those of a check run that is made or changed.
func (c *call) checkRules(making bool) *problem {
	name, has := c.body["name"].(string)
	if making && !has || has && name == "" {
		return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n\"name\" wasn't supplied.")
	}
	conclusion, _ := c.body["conclusion"].(string)
	status, _ := c.body["status"].(string)
	if status == "completed" && conclusion == "" {
		return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n\"conclusion\" wasn't supplied.")
	}
	if conclusion != "" && status != "" && status != "completed" {
		return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\nA check run with a conclusion is completed.")
	}
	if id, ok := c.body["external_id"].(string); ok && len(id) > 255 {
		return refuse(http.StatusUnprocessableEntity, "external_id is too long")
	}
	output, ok := c.body["output"].(map[string]any)
	if !ok {
		return nil
	}
	return outputRules(output)
}

func outputRules(output map[string]any) *problem {
	for _, field := range []string{"summary", "text"} {
		if text, _ := output[field].(string); utf8.RuneCountInString(text) > 65535 {
			return refuse(http.StatusUnprocessableEntity, "Only 65535 characters are allowed; %d were supplied", utf8.RuneCountInString(text))
		}
	}
	if title, _ := output["title"].(string); title == "" {
		return refuse(http.StatusUnprocessableEntity, "title is missing")
	}
	annotations, _ := output["annotations"].([]any)
	if len(annotations) > 50 {
		return refuse(http.StatusUnprocessableEntity, "No more than 50 annotations are allowed; %d were supplied", len(annotations))
	}
	for _, a := range annotations {
		a := a.(map[string]any)
		message, _ := a["message"].(string)
		title, _ := a["title"].(string)
		path, _ := a["path"].(string)
		if len(message) > 64<<10 || len(title) > 255 || message == "" || path == "" {
			return refuse(http.StatusUnprocessableEntity, "an annotation is too long, or lacks its message or path")
		}
	}
	return nil
}

// bypassRules refuse whom GitHub lets bypass no ruleset.
func bypassRules(actors []any) *problem {
	for _, a := range actors {
		a := a.(map[string]any)
		if id, _ := a["actor_id"].(float64); a["actor_type"] == "Integration" && id == actionsApp {
			p := refuse(http.StatusUnprocessableEntity, "Validation Failed")
			p.faults = []string{"Actor GitHub Actions integration must be part of the ruleset source or owner organization"}
			return p
		}
	}
	return nil
}

// payloadRules are those of what a dispatch carries.
func payloadRules(payload map[string]any, size int) *problem {
	if len(payload) > 10 {
		return refuse(http.StatusUnprocessableEntity, "No more than 10 properties are allowed; %d were supplied.", len(payload))
	}
	if size > 65535 {
		return refuse(http.StatusUnprocessableEntity, "client_payload is too large")
	}
	return nil
}
