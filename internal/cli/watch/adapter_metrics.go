package watch

import (
	"fmt"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/graduate"
	"github.com/runplan/runplan/training/validate"
)

// AdapterMetric is the score of an adapter's last version (MET-08).
type AdapterMetric struct {
	Version   string          `json:"version"`
	Score     *validate.Score `json:"score"` // null: never validated
	Validator string          `json:"validator,omitempty"`
	Graduated *time.Time      `json:"graduated_at"` // null: each generation is reviewed
}

// AdapterMetrics returns the metrics of all adapters trained in this project.
func AdapterMetrics(p *cli.Project) ([]AdapterMetric, error) {
	registry := adapters.RegistryOf(p.Layout.Root)
	names, err := registry.Adapters()
	if err != nil {
		return nil, err
	}
	out := []AdapterMetric{}
	for _, name := range names {
		versions, err := registry.Versions(name)
		if err != nil {
			return nil, err
		}
		if len(versions) == 0 {
			continue
		}
		v := versions[len(versions)-1]
		m := AdapterMetric{Version: v.Name()}
		last, there, err := validate.Last(v.ValidationFile())
		if err != nil {
			return nil, err
		}
		if there {
			m.Score, m.Validator = &last.Score, last.Validator
		}
		state, err := graduate.Load(p.Repo.Root, name)
		if err != nil {
			return nil, err
		}
		m.Graduated = state.Since
		out = append(out, m)
	}
	return out, nil
}

// Line returns the metric as one line of text.
func (m AdapterMetric) Line() string {
	score := "never validated"
	if m.Score != nil {
		score = m.Validator + " " + m.Score.String()
	}
	graduated := "not graduated"
	if m.Graduated != nil {
		graduated = "graduated " + m.Graduated.Format(time.DateOnly)
	}
	return ui.Sanitize(fmt.Sprintf("adapter %s: %s; %s", m.Version, score, graduated))
}
