package export

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/training/plan"
)

// templates holds the files next to the data. It is a variable because embed knows no constants.
//
//go:embed templates/*.tmpl
var templates embed.FS

// rendered writes a file with its template.
func rendered(name string, data any) (string, error) {
	t, err := template.New("").Funcs(template.FuncMap{"yaml": inline, "code": code, "cell": cell}).
		ParseFS(templates, "templates/"+name+".tmpl")
	var b strings.Builder
	if err == nil {
		err = t.ExecuteTemplate(&b, name+".tmpl", data)
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return b.String(), nil
}

// documents returns the configuration of the trainer and the description of the data.
func (j *job) documents() ([]document, error) {
	s := settings{
		Hyperparameters: j.m.Plan.Hyperparameters, Run: j.Format.Run, Base: j.BaseModel, Schema: j.m.Schema,
		Held:  j.Format.Held,
		Limit: j.Limit, Lengths: j.lengths(), Seed: j.m.Plan.Seed & seedBits,
		Pairs: j.Format.Teaches == Preferences, Rated: j.Format.Teaches != Answers,
	}
	card, err := j.card()
	out := []document{{CardFile, card}}
	for _, c := range j.Format.configs {
		text, e := rendered(c.text, s)
		out, err = append(out, document{c.name, text}), errors.Join(err, e)
	}
	return out, err
}

// settings is the data of the templates.
type settings struct {
	plan.Hyperparameters
	Run     string // command that starts the trainer
	Base    string // model
	Schema  string // of the lines
	Held    string // validation file
	Limit   int    // tokens of an example
	Lengths string // describes the limit
	Seed    uint64
	Pairs   bool // preferences
	Rated   bool // preferences, or answers with verdicts
}

// Batches returns the number of batches in n steps.
func (s settings) Batches(n int) int { return n * s.GradientAccumulation }

// Scale returns the factor of an adapter, alpha divided by rank.
func (s settings) Scale() float64 { return float64(s.Alpha) / float64(s.Rank) }

// Targets returns the modules in one string.
func (s settings) Targets() string { return strings.Join(s.TargetModules, ",") }

// Keys returns the names of the modules in MLX, prefixed by their part of the layer.
func (s settings) Keys() []string {
	var keys []string
	for _, m := range s.TargetModules {
		switch {
		case strings.Contains(m, "."):
		case m == "gate_proj", m == "up_proj", m == "down_proj":
			m = "mlp." + m
		default:
			m = "self_attn." + m
		}
		keys = append(keys, m)
	}
	return keys
}

// inline writes a value so that YAML, JSON and Python read it in the same way.
func inline(v any) string {
	switch x := v.(type) {
	case float64:
		s := strconv.FormatFloat(x, 'f', -1, 64) // some YAML parsers read 1e-4 as a string
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	case []string:
		return "[" + phrase.Join(x, ", ", quoted) + "]"
	}
	return quoted(fmt.Sprint(v))
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// lengths describes the token limits of the trainer.
func (j job) lengths() string {
	if n := len(j.m.TooLong); n > 0 && j.TooLong == Keep {
		return fmt.Sprintf("%d example(s) are longer than this, and are cut by the trainer (%s)", n, j.Counter.Name())
	}
	return "no example is longer than this (" + j.Counter.Name() + ")"
}

const seedBits = 1<<31 - 1 // the range that all trainers accept
