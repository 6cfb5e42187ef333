package validate

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/knowledge/summary"
)

// TRAIN-27: the weights, with scores computed by hand.
func TestScore(t *testing.T) {
	known := func(k, e, f, s, y float64) []Measure {
		var out []Measure
		for i, x := range []float64{k, e, f, s, y} {
			out = append(out, Measure{Weight: []float64{0.30, 0.25, 0.25, 0.10, 0.10}[i], Low: x, High: x, Of: 4})
		}
		return out
	}
	with := func(list []Measure, i int, change func(*Measure)) []Measure { change(&list[i]); return list }
	nothing := func(m *Measure) { m.Of = 0 }
	unknown := func(m *Measure) { m.Low, m.High = 0, 1 }
	for name, c := range map[string]struct {
		measures  []Measure
		low, high float64
		verdict   Verdict
	}{
		"all of it":           {known(1, 1, 1, 1, 1), 1, 1, Pass},
		"nothing of it":       {known(0, 0, 0, 0, 0), 0, 0, Fail},
		"contract alone":      {known(1, 0, 0, 0, 0), 0.30, 0.30, Fail},
		"dependencies alone":  {known(0, 1, 0, 0, 0), 0.25, 0.25, Fail},
		"failure modes alone": {known(0, 0, 1, 0, 0), 0.25, 0.25, Fail},
		"syntax alone":        {known(0, 0, 0, 1, 0), 0.10, 0.10, Fail},
		"types alone":         {known(0, 0, 0, 0, 1), 0.10, 0.10, Fail},
		"on the threshold":    {known(1, 1, 0.8, 0, 0), 0.75, 0.75, Pass}, // 0.30 + 0.25 + 0.20
		"just below":          {known(1, 1, 0.796, 0, 0), 0.749, 0.749, Fail},
		// 0.15 + 0.1875 + 0.25 + 0.10 + 0.04
		"mixed":                           {known(0.5, 0.75, 1, 1, 0.4), 0.7275, 0.7275, Fail},
		"an unknown linter, passed":       {with(known(1, 1, 1, 1, 1), 3, unknown), 0.90, 1, Pass},
		"an unknown linter decides":       {with(known(1, 1, 0.6, 1, 0), 3, unknown), 0.70, 0.80, Unknown},
		"an unknown linter, failed":       {with(known(1, 0.5, 0.5, 1, 0), 3, unknown), 0.55, 0.65, Fail},
		"no failure modes: no weight":     {with(known(1, 0, 1, 1, 1), 2, nothing), 0.666667, 0.666667, Fail}, // 0.50 of 0.75
		"no failure modes, all else good": {with(known(1, 1, 0, 1, 1), 2, nothing), 1, 1, Pass},
		"half of it can be measured":      {with(with(known(1, 0, 0, 1, 1), 1, nothing), 2, nothing), 1, 1, Pass},
		"too little can be measured":      {with(with(known(0, 1, 0, 1, 1), 0, nothing), 2, nothing), 0, 1, Unknown}, // 0.45
		"nothing to measure": {with(
			with(with(with(with(known(1, 1, 1, 1, 1), 0, nothing), 1, nothing), 2, nothing), 3, nothing), 4, nothing), 0, 1,
			Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := Of("u", CodeThreshold, c.measures)
			if s.Low != c.low || s.High != c.high || s.Verdict != c.verdict {
				t.Errorf("%v to %v, %s; want %v to %v, %s", s.Low, s.High, s.Verdict, c.low, c.high, c.verdict)
			}
		})
	}
}

func TestMean(t *testing.T) {
	s := Mean(0.75, []Score{{Low: 0.5, High: 0.5}, {Low: 1, High: 1}})
	if s.Low != 0.75 || s.Verdict != Pass {
		t.Errorf("%+v", s)
	}
	if s := Mean(0.75, nil); s.Verdict != Unknown || s.Why == "" {
		t.Errorf("%+v", s)
	}
}

func TestJSON(t *testing.T) {
	v, err := NewJSONSchema([]byte(`{"type":"object","required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, answers := range map[Verdict][]string{
		Pass:    {`{"a":1}`, `{"a":2}`, `{"a":3}`, `{}`, `no`}, // 3 of 5 = 0.6
		Fail:    {`{"a":1}`, `{}`},
		Unknown: {},
	} {
		if s := v.Validate(answers); s.Verdict != want {
			t.Errorf("%v: %+v, want %s", answers, s, want)
		}
	}
	if _, err := NewJSONSchema([]byte(`{`)); err == nil {
		t.Error("an incomplete schema was accepted")
	}
}

const design = `unit: orders
intent: {purpose: serves orders, cognitive_role: the counter}
interfaces:
  - type: http_rest
    endpoints:
      - {method: GET, path: "/orders/{id}"}
      - {method: POST, path: /orders}
dependencies:
  services: [{name: billing, client: billing.Client}]
failure_modes:
  - {condition: billing is late, response: says so, exception: ErrTimeout, status: 504}
  - {condition: the disk is full, response: says so}
source_files: [{path: orders/orders.go, role: core}]
meta: {confidence: {contract: 0.9}}
`

const code = `// Package orders serves orders.
package orders

import (
	"errors"
	"net/http"
)

// ErrTimeout is late.
var ErrTimeout = errors.New("late")

// Routes puts them in.
func Routes(mux *http.ServeMux) { mux.HandleFunc("GET /orders/{id}", order) }

func order(w http.ResponseWriter, r *http.Request) {
	if _, err := http.Get("http://billing/x"); errors.Is(err, ErrTimeout) {
		http.Error(w, "late", http.StatusGatewayTimeout)
	}
}
`

// One of two endpoints exists, one call bypasses the client, one failure mode is handled, one can be judged only by a
// reviewer, and there is no linter.
func TestBlueprintFidelityMeasures(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "orders"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "orders", "orders.go"), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := blueprint.Parse("f", []byte(design))
	if err != nil {
		t.Fatal(err)
	}
	v := BlueprintFidelityValidator{Summary: summary.Options{Root: root}}
	s, err := v.Validate(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	want := []Measure{
		{Name: "contract", Low: 0.5, High: 0.5, Of: 2}, {Name: "dependencies", Low: 0, High: 0, Of: 1},
		{Name: "failure_modes", Low: 0.5, High: 1, Of: 2},
		{Name: "syntax", Low: 0, High: 1, Of: 1}, {Name: "types", Low: 1, High: 1, Of: 1},
	}
	for i, w := range want {
		if g := s.Measures[i]; g.Name != w.Name || g.Low != w.Low || g.High != w.High || g.Of != w.Of ||
			g.Known() == (g.Why != "") {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	// 0.15 + 0 + 0.125 to 0.25 + 0 to 0.10 + 0.10
	if s.Low != 0.375 || s.High != 0.6 || s.Verdict != Fail {
		t.Errorf("%v to %v, %s", s.Low, s.High, s.Verdict)
	}
	for status, want := range map[gates.Status]float64{gates.Pass: 1, gates.Fail: 0} {
		v.Lint = func(context.Context) (gates.Verdict, error) {
			return gates.Verdict{Reports: []gates.Report{{Gate: "lint:go", Status: status}}}, nil
		}
		s, err := v.Validate(t.Context(), b)
		if m := s.Measures[3]; err != nil || !m.Known() || m.Low != want {
			t.Errorf("%s: %+v %v", status, m, err)
		}
	}
}
