package show

import (
	"testing"
	"time"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// sample returns a plan of eight batches and a decision about it that uses every feature.
func sample(t *testing.T) (*planparse.Plan, routing.Decision) {
	t.Helper()
	p := &planparse.Plan{Title: "Payments"}
	for i, title := range []string{"The ledger", "Retries of the ledger", "Verify the ledger", "Currencies",
		"Design of the import", "Wire the importer", "Pipeline trace", "Speak of it"} {
		key := string(rune('1' + i))
		p.Batches = append(p.Batches, planparse.Batch{Key: key, Number: key, Title: title, StartLine: 10*i + 5})
	}
	minute := func(n int) *time.Duration { d := time.Duration(n) * time.Minute; return &d }
	dollars := func(f float64) *float64 { return &f }
	available := uint64(21 << 30)
	d := routing.Decision{
		Mode: routing.Team, Workers: 2, Reasons: []string{"score 72 is above 60, and team mode is on"},
		Score: routing.Score{Value: 72, Plus: []string{"3 independent groups", "at most 3 at the same time: B3, B5, B6",
			"files overlap by less than 20% in each group"},
			Minus: []string{"B2 and B3 share 2 files, so they run one after the other"}},
		Edges: []routing.Edge{
			{From: "1", To: "2", Kind: routing.EdgeContext, Reason: "context_refs names src/ledger.go, which B1 creates",
				Line: 17},
			{From: "2", To: "3", Kind: routing.EdgeFiles, Reason: "both change src/retry.go and src/ledger.go"},
			{From: "1", To: "4", Kind: routing.EdgeText, Reason: "its text names Ledger, which B1 creates", Line: 38},
			{From: "4", To: "5", Kind: routing.EdgeDeclared, Reason: "it says that it depends on batch 4", Line: 46},
			{From: "1", To: "7", Kind: routing.EdgeRuntime, Reason: "both use port 8080"},
			{From: "5", To: "7", Kind: routing.EdgeDeclared, Reason: "it says that it depends on batch 5", Line: 67},
			{From: "6", To: "7", Kind: routing.EdgeDeclared, Reason: "it says that it depends on batch 6", Line: 67},
		},
		Pairs: []routing.Pair{{A: "2", B: "4", Reason: "no files in common"},
			{A: "3", B: "5", Overlap: 0, Reason: "no files in common"},
			{A: "3", B: "6", Overlap: 12, Reason: "they share go.mod only"}, {A: "5", B: "6", Reason: "no files in common"}},
		Groups: [][]string{{"1"}, {"2", "4"}, {"3", "5", "6", "8"}, {"7"}}, Width: []string{"3", "5", "6"},
		Speculation: []routing.Speculation{{Batch: "2", On: "1", Starts: true}, {Batch: "5", On: "4", Overlap: 73}},
		Estimate: routing.Estimate{Wall: minute(14), WallSequential: minute(28), Cost: dollars(2.4),
			CostSequential: dollars(3.1),
			SpeedUp:        dollars(2),
			Source:         "19 batches of 4 earlier runs"},
		Memory: routing.Memory{Available: &available, PerWorker: 8 << 30, OK: true}, Files: 31, Overlap: 12.3,
		Steps: []routing.Step{
			{Batch: "1", Class: routing.Implementation, Confidence: 90, Why: "creates 4 files", Tier: routing.Medium,
				Label: "sonnet",
				Model: "sonnet-4", Escalates: true, Expected: 6 * time.Minute},
			{Batch: "2", Needs: []string{"1"}, Class: routing.Implementation, Confidence: 90,
				Why:  "modifies 3 files, adds tests",
				Tier: routing.Medium, Label: "sonnet", Model: "sonnet-4", Escalates: true, Expected: 5 * time.Minute},
			{Batch: "3", Needs: []string{"2"}, Class: routing.Verification, Confidence: 85, Why: "0 creates, 5 run commands",
				Tier: routing.Small, Label: "haiku", Escalates: true, Expected: 2 * time.Minute},
			{Batch: "4", Needs: []string{"1"}, Class: routing.Implementation, Confidence: 90, Why: "creates 2 files",
				Tier:  routing.Medium,
				Label: "sonnet", Model: "sonnet-4", Escalates: true, Expected: 4 * time.Minute},
			{Batch: "5", Needs: []string{"4"}, Class: routing.Architecture, Confidence: 90, Why: `title says "design"`,
				Tier:  routing.Large,
				Label: "opus", Expected: 3 * time.Minute},
			{Batch: "6", Class: routing.Wiring, Confidence: 80, Why: `no new logic: modifies 1 file, title says "wire"`,
				Tier:  routing.Small,
				Label: "haiku", Escalates: true, Expected: 5 * time.Minute},
			{Batch: "7", Needs: []string{"1", "5", "6"}, Class: routing.Verification, Confidence: 60,
				Why: `0 creates, title says "trace"`, Tier: routing.Small, Label: "haiku", Escalates: true,
				Expected: 3 * time.Minute},
			{Batch: "8", Needs: []string{"7"}, Skip: "outside --from/--to"},
		},
	}
	return p, d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
