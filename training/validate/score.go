// Package validate rates the output of an adapter: how well its code follows the blueprint (TRAIN-26, TRAIN-27), or how
// many of its answers match a schema.
//
// A result that could not be checked is unknown, neither 0 nor 1. The measure is then a range, and so is the score. The
// score passes if its lower end reaches the threshold, and fails if its upper end does not; otherwise it is unknown. A
// measure without items, such as the failure modes of a unit that declares none, has no weight, and the other measures
// share it. If the measures with items have less than half of the weight, the score is unknown.
package validate

import (
	"fmt"
	"math"
)

// Names of the validators.
const (
	BlueprintFidelity = "blueprint_fidelity"
	JSONSchema        = "json_schema"
)

// The thresholds. Wrong code does more harm than wrong JSON.
const (
	CodeThreshold = 0.75
	JSONThreshold = 0.6
)

// Measure is a value from 0 to 1. Low and High differ if it is not known exactly.
type Measure struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Of     int     `json:"of"`            // number of items; 0: nothing to measure, so it has no weight
	Why    string  `json:"why,omitempty"` // why it is a range or has no weight
}

// Known reports whether the measure is a single value.
func (m Measure) Known() bool { return m.Of > 0 && m.Low == m.High }

// exact returns the known measure good/n.
func exact(name string, weight float64, good, n int, nothing string) Measure {
	m := Measure{Name: name, Weight: weight, Of: n, Why: nothing}
	if n > 0 {
		m.Low = float64(good) / float64(n)
		m.High, m.Why = m.Low, ""
	}
	return m
}

// Verdict is the verdict of a score.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown"
)

// Score is the weighted mean of measures.
type Score struct {
	Unit      string    `json:"unit,omitempty"`
	Measures  []Measure `json:"measures"`
	Low       float64   `json:"low"`
	High      float64   `json:"high"`
	Threshold float64   `json:"threshold"`
	Verdict   Verdict   `json:"verdict"`
	Why       string    `json:"why,omitempty"`
}

// String returns the score, its verdict and the threshold as one line of text.
func (s Score) String() string {
	if s.Low == s.High {
		return fmt.Sprintf("%.3f  %s (from %.2f)", s.Low, s.Verdict, s.Threshold)
	}
	return fmt.Sprintf("%.3f to %.3f  %s (from %.2f)", s.Low, s.High, s.Verdict, s.Threshold)
}

// enough is the least total weight of measurable items. A linter alone does not measure a blueprint.
const enough = 0.5

// Of returns the weighted mean: V = 0.30 k + 0.25 e + 0.25 f + 0.10 s + 0.10 y if all measures have items.
func Of(unit string, threshold float64, measures []Measure) Score {
	s := Score{Unit: unit, Measures: measures, Threshold: threshold, Low: 0, High: 1}
	total := 0.0
	for _, m := range measures {
		if m.Of > 0 {
			total += m.Weight
		}
	}
	if total < enough-1e-9 {
		s.Why = "there are too few items to measure"
		return s.judged()
	}
	s.High = 0
	for _, m := range measures {
		if m.Of > 0 {
			s.Low += m.Weight / total * m.Low
			s.High += m.Weight / total * m.High
		}
	}
	s.Low, s.High = rounded(s.Low), rounded(s.High)
	return s.judged()
}

func (s Score) judged() Score {
	switch {
	case s.Low >= s.Threshold:
		s.Verdict = Pass
	case s.High < s.Threshold:
		s.Verdict = Fail
	default:
		s.Verdict = Unknown
	}
	return s
}

// Mean returns the score of an adapter: the mean of the scores of its units. Without units it is unknown.
func Mean(threshold float64, list []Score) Score {
	s := Score{Measures: []Measure{}, Threshold: threshold, High: 1}
	if len(list) == 0 {
		s.Why = "there were no examples for the validation"
		return s.judged()
	}
	s.High = 0
	for _, one := range list {
		s.Low += one.Low / float64(len(list))
		s.High += one.High / float64(len(list))
	}
	s.Low, s.High = rounded(s.Low), rounded(s.High)
	s = s.judged()
	for _, one := range list {
		if s.Verdict == Unknown && s.Why == "" && one.Why != "" {
			s.Why = "of " + one.Unit + ", " + one.Why
		}
	}
	return s
}

// rounded removes floating-point noise.
func rounded(f float64) float64 { return math.Round(f*1e6) / 1e6 }
