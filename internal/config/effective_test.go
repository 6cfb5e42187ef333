package config

import (
	"os"
	"path/filepath"
	"testing"
)

func loadedFrom(t *testing.T, text string) *Loaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Load([]string{file}, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A changed setting that affects a run is reported. Settings that have no effect, and an agent that was removed, are
// not.
func TestChangedSettingsAreReported(t *testing.T) {
	base := "[gates]\ndetect = false\n[agents.a]\ncommand = [\"x\"]\n[agents.b]\ncommand = [\"y\"]\n"
	then := loadedFrom(t, base).Effective()
	for name, c := range map[string]struct {
		text string
		want string // the one key that changed, "" for none
	}{
		"nothing":              {base, ""},
		"a gate is disabled":   {"[gates]\ndetect = false\ndisable = [\"go\"]\n" + base[22:], "gates.disable"},
		"a gate's command":     {base + "[[gates.command]]\nname = \"n\"\nrun = \"true\"\n", "gates.command"},
		"a limit":              {"[run]\nmax_cost_usd = 9\n" + base, "run.max_cost_usd"},
		"a variable":           {base + "env = { A = \"1\" }\n", "agents.b.env.A"},
		"an agent was removed": {"[gates]\ndetect = false\n[agents.a]\ncommand = [\"x\"]\n", ""},
		"arguments moved": {"[gates]\ndetect = false\n[agents.a]\ncommand = [\"x\", \"\"]\n[agents.b]\ncommand = " +
			"[\"y\"]\n", "agents.a.command"},
		"whom it tells": {base + "[notify]\ncommand = [\"z\"]\n", ""},
	} {
		got := Changes(then, loadedFrom(t, c.text).Effective())
		if len(got) > 1 || len(got) == 1 != (c.want != "") || len(got) == 1 && got[0].Key != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
