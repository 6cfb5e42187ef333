package graduate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/training/curriculum"
)

// graduated is the time at which the adapter of these tests graduated.
var graduated = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func put(t *testing.T, root, name, text string) {
	t.Helper()
	at := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// candidate creates a unit that session wrote n days after the graduation.
func candidate(t *testing.T, root, unit, session string, n int) {
	t.Helper()
	put(t, root, blueprint.PathOf(unit, blueprint.Candidate),
		fmt.Sprintf(
			"unit: %s\nsource_files:\n  - {path: %s.go, role: router}\nintent: {purpose: p, cognitive_role: c}\ninterfaces: "+
				"[{type: cli, commands: [x]}]\ndependencies: {services: []}\nfailure_modes: []\nmeta: {confidence: {intent: 1}}\n",
			unit, unit))
	put(t, root, unit+".go", "package "+unit+"\n")
	at := graduated.AddDate(0, 0, n)
	put(t, root, fmt.Sprintf("%s/generation_%s.json", lifecycle.ReviewFolder(unit, blueprint.Candidate),
		at.Format("20060102T150405Z")),
		fmt.Sprintf(`{"generation_id": "%s-1", "session_id": %q, "at": %q}`, unit, session, at.Format(time.RFC3339)))
}

// promote runs a unit through the stages of promotion, without gates.
func promote(t *testing.T, root, unit string) (review lifecycle.StageResult, outcome lifecycle.Outcome) {
	t.Helper()
	none := func(context.Context) (gates.Verdict, error) { return gates.Verdict{}, nil }
	p, err := lifecycle.Promote(t.Context(), unit, lifecycle.Pipeline{
		Root: root, Now: func() time.Time { return graduated.AddDate(0, 2, 0) }, Validate: none, Smoke: none,
		Check: func(context.Context, *blueprint.Blueprint, blueprint.State) (blueprint.Checked, error) {
			return blueprint.Checked{}, nil
		},
		Approve: func(context.Context, string) (string, error) { return "ada", nil },
		Audit: func(_ context.Context, unit string) (bool, string, error) {
			return Audit(root, curriculum.CodeArchitect, unit)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Stages[3].Status == lifecycle.StageNotRun {
		t.Fatalf("%+v", p.Stages)
	}
	return p.Stages[4], p.Outcome
}

// TRAIN-30: after the adapter has graduated, a promotion requires a review of every fifth of its generations, and of
// every unit that others wrote.
func TestPromotionReviewsEveryFifthGeneration(t *testing.T) {
	root := t.TempDir()
	for i := range 10 {
		candidate(t, root, fmt.Sprintf("unit%c", 'a'+i), lifecycle.AdapterSession, i+1)
	}
	candidate(t, root, "byhand", "author-1", 3)
	candidate(t, root, "early", lifecycle.AdapterSession, -1)

	if s, outcome := promote(t, root, "unita"); s.Status != lifecycle.StageFail || outcome != lifecycle.Refused {
		t.Errorf("before it graduated: %+v, %s", s, outcome)
	}
	put(t, root, stateFile(curriculum.CodeArchitect),
		fmt.Sprintf(`{"adapter_name": "code-architect", "graduated_at": %q, "cycles": []}`, graduated.Format(time.RFC3339)))
	for i := range 10 {
		unit := fmt.Sprintf("unit%c", 'a'+i)
		s, outcome := promote(t, root, unit)
		if audited := (i+1)%5 == 0; audited && (s.Status != lifecycle.StageFail || outcome != lifecycle.Refused) {
			t.Errorf("generation %d was not asked for a review: %+v, %s", i+1, s, outcome)
		} else if !audited && (s.Status != lifecycle.StageSkipped || outcome != lifecycle.Promoted ||
			!strings.Contains(s.Note, fmt.Sprintf("generation %d since", i+1))) {
			t.Errorf("generation %d: %+v, %s", i+1, s, outcome)
		}
	}
	for _, unit := range []string{"byhand", "early"} {
		if s, _ := promote(t, root, unit); s.Status != lifecycle.StageFail {
			t.Errorf("%s: %+v", unit, s)
		}
	}
	if made, err := Generated(root, graduated); err != nil || len(made) != 10 {
		t.Errorf("%d generations since, %v", len(made), err)
	}
}

// A unit with a rejected review is not promoted without another review, no matter who wrote it.
func TestRejectionRequiresAnotherReview(t *testing.T) {
	root := t.TempDir()
	candidate(t, root, "orders", lifecycle.AdapterSession, 1)
	put(t, root, stateFile(curriculum.CodeArchitect),
		fmt.Sprintf(`{"adapter_name": "code-architect", "graduated_at": %q, "cycles": []}`, graduated.Format(time.RFC3339)))
	put(t, root, lifecycle.ReviewFolder("orders", blueprint.Candidate)+"/cc_review_20260103T000000Z.json",
		`{"service_id": "orders", "decision": "reject", "received_at": "2026-01-03T00:00:00Z", "blueprint_sha256": "of earlier code", "sources_sha256": "of earlier code"}`)
	if s, _ := promote(t, root, "orders"); s.Status != lifecycle.StageFail {
		t.Errorf("%+v", s)
	}
}
