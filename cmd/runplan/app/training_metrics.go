package app

import (
	"fmt"
	"time"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/graduate"
	"github.com/runplan/runplan/training/validate"
)

// adapterMetric is the score of an adapter's last version (MET-08).
type adapterMetric struct {
	Version   string          `json:"version"`
	Score     *validate.Score `json:"score"` // null: never validated
	Validator string          `json:"validator,omitempty"`
	Graduated *time.Time      `json:"graduated_at"` // null: each generation is reviewed
}

// adapterMetrics returns the metrics of all adapters trained in this project.
func (p *project) adapterMetrics() ([]adapterMetric, error) {
	registry := adapters.RegistryOf(p.layout.Root)
	names, err := registry.Adapters()
	if err != nil {
		return nil, err
	}
	out := []adapterMetric{}
	for _, name := range names {
		versions, err := registry.Versions(name)
		if err != nil {
			return nil, err
		}
		if len(versions) == 0 {
			continue
		}
		v := versions[len(versions)-1]
		m := adapterMetric{Version: v.Name()}
		last, there, err := validate.Last(v.ValidationFile())
		if err != nil {
			return nil, err
		}
		if there {
			m.Score, m.Validator = &last.Score, last.Validator
		}
		state, err := graduate.Load(p.repo.Root, name)
		if err != nil {
			return nil, err
		}
		m.Graduated = state.Since
		out = append(out, m)
	}
	return out, nil
}

func (m adapterMetric) line() string {
	score := "never validated"
	if m.Score != nil {
		score = m.Validator + " " + scoreText(*m.Score)
	}
	graduated := "not graduated"
	if m.Graduated != nil {
		graduated = "graduated " + m.Graduated.Format(time.DateOnly)
	}
	return ui.Sanitize(fmt.Sprintf("adapter %s: %s; %s", m.Version, score, graduated))
}

func scoreText(s validate.Score) string {
	if s.Low == s.High {
		return fmt.Sprintf("%.3f  %s (from %.2f)", s.Low, s.Verdict, s.Threshold)
	}
	return fmt.Sprintf("%.3f to %.3f  %s (from %.2f)", s.Low, s.High, s.Verdict, s.Threshold)
}
