// Package blueprint compares code with its design. A blueprint is a YAML file that says what a unit of the code
// promises: its purpose, interfaces, dependencies and failure modes. This package reads, drafts and writes such files,
// and checks mechanically, without a model, whether the source keeps the promises; the gate does so for a change.
//
// The blueprint decides (BP-05): if code and blueprint differ, the code is wrong, or the blueprint is corrected.
// Package lifecycle, below, has what people and models do with a blueprint.
package blueprint

import (
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// Blueprint is the design of one unit (BP-02).
type Blueprint struct {
	Unit         string        `yaml:"unit" json:"unit" need:"yes"`
	Intent       Intent        `yaml:"intent" json:"intent" need:"yes"`
	Interfaces   []Interface   `yaml:"interfaces" json:"interfaces" need:"yes"`
	Dependencies Dependencies  `yaml:"dependencies" json:"dependencies" need:"yes"`
	FailureModes []FailureMode `yaml:"failure_modes" json:"failure_modes" need:"yes"`
	SourceFiles  []SourceFile  `yaml:"source_files" json:"source_files" need:"yes"`
	Contract     Contract      `yaml:"contract" json:"contract,omitzero"`
	Meta         Meta          `yaml:"meta" json:"meta" need:"yes"`

	lines map[string]int // of keys: "interfaces[0].endpoints[1]" → line
	file  string
}

// Intent describes the purpose of a unit.
type Intent struct {
	Purpose         string   `yaml:"purpose" json:"purpose" need:"yes"`
	CognitiveRole   string   `yaml:"cognitive_role" json:"cognitive_role" need:"yes"`
	DesignDecisions []string `yaml:"design_decisions" json:"design_decisions,omitempty"`
	OpenQuestions   []string `yaml:"open_questions" json:"open_questions,omitempty"`
}

// Dependencies lists what a unit may call and use.
type Dependencies struct {
	Services []Service `yaml:"services" json:"services" need:"yes"`
	Volumes  []Volume  `yaml:"volumes" json:"volumes,omitempty"`
	Shared   []string  `yaml:"shared" json:"shared,omitempty"` // libraries that every unit may import
}

// Service is another unit that this unit calls. It must call it through a client, never by raw HTTP (BP-26).
type Service struct {
	Name    string   `yaml:"name" json:"name" need:"yes"`
	Client  string   `yaml:"client" json:"client,omitempty"` // module or type of the client utility
	Calls   []string `yaml:"calls" json:"calls,omitempty"`
	Purpose string   `yaml:"purpose" json:"purpose,omitempty"`
}

// Volume is a place on disk that a unit uses.
type Volume struct {
	Path string `yaml:"path" json:"path" need:"yes"`
	Mode string `yaml:"mode" json:"mode,omitempty"` // ro or rw
}

// FailureMode is a documented failure and the unit's response to it.
type FailureMode struct {
	Condition string `yaml:"condition" json:"condition" need:"yes"`
	Response  string `yaml:"response" json:"response" need:"yes"`
	Exception string `yaml:"exception" json:"exception,omitempty"` // type or error that is caught
	Status    int    `yaml:"status" json:"status,omitempty"`       // the status of the answer; 0 if none is promised
	Interface string `yaml:"interface" json:"interface,omitempty"` // "GET /orders/{id}" if it belongs to a single endpoint
}

// SourceFile is a file of a unit with its role.
type SourceFile struct {
	Path string `yaml:"path" json:"path" need:"yes"`
	Role string `yaml:"role" json:"role" need:"yes"`
}

// Contract lists what the source must contain literally (GATE-19).
type Contract struct {
	Enums     []Enum     `yaml:"enums" json:"enums,omitempty"`
	Constants []Constant `yaml:"constants" json:"constants,omitempty"`
	Models    []Model    `yaml:"models" json:"models,omitempty"`
}

// Enum is an enumeration with its members.
type Enum struct {
	Name    string   `yaml:"name" json:"name" need:"yes"`
	Members []string `yaml:"members" json:"members" need:"yes"` // NAME, or NAME = value
}

// Constant is a named value.
type Constant struct {
	Name  string `yaml:"name" json:"name" need:"yes"`
	Value string `yaml:"value" json:"value,omitempty"`
}

// Model is a data model that interfaces exchange.
type Model struct {
	Name   string   `yaml:"name" json:"name" need:"yes"`
	Fields []string `yaml:"fields" json:"fields" need:"yes"`
}

// Meta describes the blueprint itself.
type Meta struct {
	Confidence Confidence `yaml:"confidence" json:"confidence" need:"yes"`
	Updated    string     `yaml:"updated" json:"updated,omitempty"`
	Notes      string     `yaml:"notes" json:"notes,omitempty"`
}

// Confidence says how sure the author is of each section, from 0 to 1 (BP-04). A missing section is unknown, not 0.
type Confidence struct {
	Runtime      *float64 `yaml:"runtime" json:"runtime,omitempty"`
	Contract     *float64 `yaml:"contract" json:"contract,omitempty"`
	Dependencies *float64 `yaml:"dependencies" json:"dependencies,omitempty"`
	FailureModes *float64 `yaml:"failure_modes" json:"failure_modes,omitempty"`
	Intent       *float64 `yaml:"intent" json:"intent,omitempty"`
}

// section is one confidence with its name.
type section struct {
	name  string
	value *float64
}

// sections returns the confidences in the order of the table in requirement BP-04.
func (c Confidence) sections() []section {
	return []section{{"runtime", c.Runtime}, {"contract", c.Contract}, {"dependencies", c.Dependencies},
		{"failure_modes", c.FailureModes}, {"intent", c.Intent}}
}

// Endpoints returns the endpoints of all http_rest interfaces, in order.
func (b *Blueprint) Endpoints() []Endpoint {
	var out []Endpoint
	for _, i := range b.Interfaces {
		if i.HTTP != nil {
			out = append(out, i.HTTP.Endpoints...)
		}
	}
	return out
}

// Paths returns the source files, in order.
func (b *Blueprint) Paths() []string {
	return lists.Map(b.SourceFiles, func(f SourceFile) string { return f.Path })
}

// Clients returns the client names of the units that this one depends on.
func (b *Blueprint) Clients() []string {
	var out []string
	for _, s := range b.Dependencies.Services {
		if s.Client != "" {
			out = lists.Add(out, s.Client)
		}
	}
	return out
}

// Line returns the line of a key such as "interfaces[0].endpoints[1]" in the blueprint's file. Without that key it
// returns the line of the closest parent, else 1.
func (b *Blueprint) Line(key string) int {
	for key != "" && b.lines[key] == 0 {
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return max(1, b.lines[key])
}

// File returns the path of the blueprint's file for messages.
func (b *Blueprint) File() string { return b.file }
