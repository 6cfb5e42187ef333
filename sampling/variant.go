package sampling

import (
	"embed"
	"strings"
)

// Variant is a direction for an agent: a name, and a directive in the brief.
type Variant struct {
	Name   string `json:"name"`
	Prompt string `json:"prompt"` // "" for vanilla, the unchanged brief
}

// The variants (SAMP-03, SAMP-10).
const (
	Vanilla           = "vanilla"
	DifferentApproach = "different-approach" // needs the digest of a failure
	MinimalChange     = "minimal-change"
	CheckAllImports   = "check-all-imports"
	WriteTestsFirst   = "write-tests-first"
	RunTestsAfterEdit = "run-tests-after-each-edit"
	TraceEndToEnd     = "trace-end-to-end"
	CheckImportExport = "check-every-import-export"
	RealObjects       = "real-objects-not-mocks"
	EdgeCasesOnly     = "edge-cases-only"
	Synthesis         = "synthesis"  // of round 2: no candidate is given it
	TestsOnly         = "tests-only" // of the agent that writes the tests of a batch first; no candidate is given it
)

// prompts holds the directives of the variants and the brief of a synthesis, each in a file NAME.md. A project cannot
// override them: results are counted by the name of a variant, so another text would be another variant.
//
//go:embed prompts/*.md
var prompts embed.FS

// pool lists the variants for each type of batch, by its probable failures (SAMP-10).
func pool(batchType string) []string {
	switch batchType {
	case "new-file":
		return []string{Vanilla, CheckAllImports, WriteTestsFirst}
	case "refactoring":
		return []string{Vanilla, MinimalChange, RunTestsAfterEdit}
	case "integration-wiring":
		return []string{Vanilla, TraceEndToEnd, CheckImportExport}
	case "test-only":
		return []string{Vanilla, RealObjects, EdgeCasesOnly}
	}
	return []string{Vanilla, MinimalChange, WriteTestsFirst}
}

// general are variants that do no harm to a batch of any type. They fill the slots that a pool leaves empty.
func general() []string {
	return []string{MinimalChange, RunTestsAfterEdit, WriteTestsFirst, CheckAllImports, TraceEndToEnd}
}

// Named returns the variant of that name.
func Named(name string) (Variant, bool) {
	if name == Vanilla {
		return Variant{Name: Vanilla}, true
	}
	text, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil || name == Synthesis {
		return Variant{}, false
	}
	return Variant{Name: name, Prompt: strings.TrimSpace(string(text))}, true
}
