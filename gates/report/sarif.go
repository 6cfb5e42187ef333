package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/runplan/runplan/gates"
)

// sarifSchema is the URL of the schema of version 2.1.0.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// object is an object of JSON.
type object = map[string]any

// sourceRoot is the symbolic name of the tree's root.
const sourceRoot = "SRCROOT"

// SARIF writes r as a log of SARIF 2.1.0. A gate that checked nothing becomes a notification of the tool, not a result.
func SARIF(w io.Writer, r Run) error {
	results := []object{} // an empty list means that everything was checked without findings
	var rules, notes []object
	ok := true
	index := map[string]int{}
	notice := func(level, text string) {
		notes = append(notes, object{"level": level, "message": object{"text": text}})
	}
	for _, rep := range r.Verdict.Reports {
		switch rep.Status {
		case gates.Errored:
			ok = false
			notice("error", rep.Gate+": "+rep.Note)
			continue
		case gates.Skipped:
			notice("note", rep.Gate+" was skipped: "+rep.Note)
			continue
		}
		for _, f := range rep.Findings {
			id := ruleID(rep.Gate, f)
			if _, ok := index[id]; !ok {
				index[id] = len(rules)
				rules = append(rules, object{"id": id, "shortDescription": object{"text": id + ", found by the gate " + rep.Gate}})
			}
			results = append(results, sarifOf(rep.Gate, id, index[id], f))
		}
	}
	driver := object{"name": "runplan"}
	if r.Version != "" {
		driver["version"] = r.Version
	}
	if len(rules) > 0 {
		driver["rules"] = rules
	}
	call := object{"executionSuccessful": ok}
	if len(notes) > 0 {
		call["toolExecutionNotifications"] = notes
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(object{"$schema": sarifSchema, "version": "2.1.0", "runs": []object{{
		"tool":               object{"driver": driver},
		"invocations":        []object{call},
		"originalUriBaseIds": object{sourceRoot: object{"description": object{"text": "the root of the repository"}}},
		"results":            results,
		"columnKind":         "unicodeCodePoints",
	}}}); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	return nil
}

func sarifOf(gate, id string, index int, f gates.Finding) object {
	level := map[gates.Severity]string{gates.Error: "error", gates.Warning: "warning", gates.Note: "note"}[f.Severity]
	res := object{
		"ruleId": id, "ruleIndex": index, "level": cmp.Or(level, "error"),
		"message":             object{"text": cmp.Or(message(f), id)},
		"partialFingerprints": object{"runplan/v1": f.Identity(gate)},
	}
	if f.Known {
		res["baselineState"] = "unchanged"
	}
	if f.Path != "" {
		place := object{"artifactLocation": object{"uri": uriOf(f.Path), "uriBaseId": sourceRoot}}
		if f.Line > 0 {
			region := object{"startLine": f.Line}
			if f.Col > 0 {
				region["startColumn"] = f.Col
			}
			place["region"] = region
		}
		res["locations"] = []object{{"physicalLocation": place}}
	}
	return res
}

// uriOf writes a path as a relative reference. Only / stays as it is.
func uriOf(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	if strings.Contains(parts[0], ":") { // it would look like a URL scheme
		parts[0] = "./" + parts[0]
	}
	return strings.Join(parts, "/")
}
