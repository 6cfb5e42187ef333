package price

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/agents"
)

func n(v int64) *int64 { return &v }

const own = `
date = "2026-12-01"
[models.m]
input = 2.0
output = 10.0
cache_read = 0.5
`

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prices.toml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTableCost(t *testing.T) {
	table, err := Load(write(t, own))
	if err != nil || table.Date != "2026-12-01" {
		t.Fatalf("%+v, %v", table, err)
	}
	tests := map[string]struct {
		model string
		usage agents.Usage
		want  float64
		known bool
	}{
		"all classes with a price": {"m", agents.Usage{InputTokens: n(1e6), OutputTokens: n(1e5), CacheReadTokens: n(2e6)},
			4, true},
		"nothing used": {"m", agents.Usage{InputTokens: n(0), OutputTokens: n(0)}, 0, true},
		"a class without a price": {"m", agents.Usage{InputTokens: n(1), OutputTokens: n(1), CacheWriteTokens: n(1)}, 0,
			false},
		"none of that class": {"m", agents.Usage{InputTokens: n(1e6), OutputTokens: n(0), CacheWriteTokens: n(0)}, 2,
			true},
		"another model":     {"other", agents.Usage{InputTokens: n(1), OutputTokens: n(1)}, 0, false},
		"no model":          {"", agents.Usage{InputTokens: n(1), OutputTokens: n(1)}, 0, false},
		"unreported tokens": {"m", agents.Usage{OutputTokens: n(1)}, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, known := table.Cost(tt.model, tt.usage)
			if known != tt.known || math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("got %v, %v", got, known)
			}
		})
	}
	if _, known := (*Table)(nil).Cost("m", agents.Usage{InputTokens: n(1), OutputTokens: n(1)}); known {
		t.Error("without a table the price must be unknown")
	}
}

func TestLoadDefaultsToBuiltInTable(t *testing.T) {
	for _, file := range []string{"", filepath.Join(t.TempDir(), "none.toml")} {
		table, err := Load(file)
		if err != nil || table.Date == "" {
			t.Errorf("%+v, %v", table, err)
		}
	}
}

func TestLoadRejectsInvalidTables(t *testing.T) {
	for text, want := range map[string]string{
		"[models.m]\nimput = 1.0\n":  "prices.toml:2: unknown key",
		"[models.m]\ninput = -1.0\n": "the price m is -1",
		"[models.m]\ninput = inf\n":  "the price m",
		"[models":                    "prices.toml",
	} {
		if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
