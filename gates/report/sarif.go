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

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool            `json:"tool"`
	Invocations []sarifInvocation    `json:"invocations"`
	BaseIDs     map[string]sarifBase `json:"originalUriBaseIds"`
	Results     []sarifResult        `json:"results"` // an empty list means that everything was checked without findings
	ColumnKind  string               `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules,omitempty"`
}

type sarifRule struct {
	ID   string    `json:"id"`
	Text sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	OK    bool              `json:"executionSuccessful"`
	Notes []sarifToolNotice `json:"toolExecutionNotifications,omitempty"`
}

type sarifToolNotice struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifBase struct {
	Text sarifText `json:"description"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Baseline     string            `json:"baselineState,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type sarifRegion struct {
	Line int `json:"startLine"`
	Col  int `json:"startColumn,omitempty"`
}

// sourceRoot is the symbolic name of the tree's root.
const sourceRoot = "SRCROOT"

// SARIF writes r as a log of SARIF 2.1.0. A gate that checked nothing becomes a notification of the tool, not a result.
func SARIF(w io.Writer, r Run) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "runplan", Version: r.Version}},
		BaseIDs:    map[string]sarifBase{sourceRoot: {sarifText{"the root of the repository"}}},
		Results:    []sarifResult{},
		ColumnKind: "unicodeCodePoints",
	}
	call := sarifInvocation{OK: true}
	index := map[string]int{}
	for _, rep := range r.Verdict.Reports {
		switch rep.Status {
		case gates.Errored:
			call.OK = false
			call.Notes = append(call.Notes, sarifToolNotice{"error", sarifText{rep.Gate + ": " + rep.Note}})
			continue
		case gates.Skipped:
			call.Notes = append(call.Notes, sarifToolNotice{"note", sarifText{rep.Gate + " was skipped: " + rep.Note}})
			continue
		}
		for _, f := range rep.Findings {
			id := ruleID(rep.Gate, f)
			if _, ok := index[id]; !ok {
				index[id] = len(run.Tool.Driver.Rules)
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
					sarifRule{id, sarifText{id + ", found by the gate " + rep.Gate}})
			}
			run.Results = append(run.Results, sarifOf(rep.Gate, id, index[id], f))
		}
	}
	run.Invocations = []sarifInvocation{call}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	return nil
}

func sarifOf(gate, id string, index int, f gates.Finding) sarifResult {
	res := sarifResult{
		RuleID: id, RuleIndex: index, Message: sarifText{message(f)},
		Level: map[gates.Severity]string{gates.Error: "error", gates.Warning: "warning",
			gates.Note: "note"}[f.Severity],
		Fingerprints: map[string]string{"runplan/v1": f.Identity(gate)},
	}
	res.Level = cmp.Or(res.Level, "error")
	res.Message.Text = cmp.Or(res.Message.Text, id)
	if f.Known {
		res.Baseline = "unchanged"
	}
	if f.Path != "" {
		loc := sarifPhysical{Artifact: sarifArtifact{uriOf(f.Path), sourceRoot}}
		if f.Line > 0 {
			loc.Region = &sarifRegion{f.Line, f.Col}
		}
		res.Locations = []sarifLocation{{loc}}
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
