// Package price computes the cost of tokens from a table of prices. The table is built in, with the date of its prices,
// and the user's file overrides it. The cost of a model without a price is unknown, never zero.
package price

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/agents"
)

//go:embed prices.toml
var builtin []byte

// Price is the price of a model, in US dollars per million tokens. Nil is unknown.
type Price struct {
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
}

// Table is a list of prices. A nil table is empty.
type Table struct {
	Date   string           `toml:"date"` // when the prices were looked up
	Models map[string]Price `toml:"models"`
}

// Load reads the built-in table and, over it, the user's file, if there is one.
func Load(file string) (*Table, error) {
	t := &Table{Models: map[string]Price{}}
	if err := t.read("built-in prices", builtin); err != nil {
		return nil, err
	}
	if file == "" {
		return t, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the prices: %w", err)
	}
	return t, t.read(file, data)
}

func (t *Table) read(name string, data []byte) error {
	var more Table
	dec := toml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))).DisallowUnknownFields()
	if err := dec.Decode(&more); err != nil {
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			line, _ := strict.Errors[0].Position()
			return fmt.Errorf("%s:%d: unknown key %q; a model has input, output, cache_read and cache_write", name, line,
				strict.Errors[0].Key())
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, model := range slices.Sorted(maps.Keys(more.Models)) {
		p := more.Models[model]
		for _, v := range []*float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
			if v != nil && (*v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0)) {
				return fmt.Errorf("%s: the price %s is %v", name, model, *v)
			}
		}
		t.Models[model] = p
	}
	if more.Date != "" {
		t.Date = more.Date
	}
	return nil
}

// Cost returns the cost of u on model. It is unknown if the model is not in the table, if there are no token
// counts, or if a class of tokens has no price.
func (t *Table) Cost(model string, u agents.Usage) (float64, bool) {
	if t == nil {
		return 0, false
	}
	p, ok := t.Models[model]
	if !ok || u.InputTokens == nil || u.OutputTokens == nil {
		return 0, false
	}
	sum := 0.0
	for _, c := range []struct {
		n     *int64
		price *float64
	}{{u.InputTokens, p.Input}, {u.OutputTokens, p.Output}, {u.CacheReadTokens, p.CacheRead},
		{u.CacheWriteTokens, p.CacheWrite}} {
		switch {
		case c.n == nil || *c.n == 0:
		case c.price == nil:
			return 0, false
		default:
			sum += float64(*c.n) / 1e6 * *c.price
		}
	}
	return sum, true
}
