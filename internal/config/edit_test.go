package config

import (
	"errors"
	"strings"
	"testing"
)

// Edit changes one key and keeps everything else, including comments (CONF-01).
func TestEdit(t *testing.T) {
	const file = "# ours\n[run]\nland = \"pr\" # not ff\nmax_attempts = 2\n\n[gates]\n# slow\ndisable = [\n  " +
		"\"lint\",\n]\n"
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		in, key string
		value   *string
		want    string
		err     string
	}{
		"a value":  {file, "run.land", text("ff"), strings.Replace(file, "\"pr\"", "\"ff\"", 1), ""},
		"a number": {file, "run.max_attempts", text("5"), strings.Replace(file, "= 2", "= 5", 1), ""},
		"a new key": {file, "run.agent_timeout", text("30m"),
			strings.Replace(file, "[run]\n", "[run]\nagent_timeout = \"30m\"\n", 1), ""},
		"a new table":   {file, "routing.max_workers", text("4"), file + "\n[routing]\nmax_workers = 4\n", ""},
		"an empty file": {"", "run.land", text("ff"), "[run]\nland = \"ff\"\n", ""},
		"of an agent": {"", "agents.mine.command", text(`["x", "y"]`), "[agents.mine]\ncommand = [\"x\", \"y\"]\n",
			""},
		"a dotted key":    {"run.land = \"pr\"\n", "run.land", text("ff"), "run.land = \"ff\"\n", ""},
		"away":            {file, "run.max_attempts", nil, strings.Replace(file, "max_attempts = 2\n", "", 1), ""},
		"away, not there": {file, "run.agent", nil, file, ""},
		"a name in a table that comes last, without a line feed": {"[models.overrides] # by stage", "models.overrides.scope",
			text("m"), "[models.overrides] # by stage\nscope = \"m\"\n", ""},
		"the same name in another table": {"[models.overrides]\n[agents.x.env]\nscope = \"a\"\n", "models.overrides.scope",
			text("m"), "[models.overrides]\nscope = \"m\"\n[agents.x.env]\nscope = \"a\"\n", ""},
		"the last name of a table": {"[models.overrides]\nscope = \"m\"\n", "models.overrides.scope", nil,
			"[models.overrides]\n", ""},
		"a name in quotes": {"[models.overrides]\n\"scope\" = \"m\"\n", "models.overrides.scope", text("n"), "", "by hand"},
		"a name in an inline table": {"[models]\noverrides = {scope = \"m\"}\n", "models.overrides.scope", text("n"), "",
			"by hand"},
		"a dotted name in a table": {"[models]\noverrides.scope = \"m\"\n", "models.overrides.scope", text("n"), "",
			"by hand"},
		"a text of several lines": {"[models.overrides]\nscope = \"\"\"\nm\"\"\"\n", "models.overrides.scope", text("n"), "",
			"by hand"},
		"no such key":        {file, "run.lnd", text("ff"), "", `unknown setting "run.lnd"; did you mean "run.land"?`},
		"no such key, away":  {file, "run.lnd", nil, "", `unknown setting "run.lnd"`},
		"a wrong key, away":  {"[run]\nlnd = 1\n", "run.lnd", nil, "[run]\n", ""},
		"no number":          {file, "run.max_attempts", text("many"), "", "not a number"},
		"over several lines": {file, "gates.disable", text(`["a"]`), "", "by hand"},
		"in an inline table": {"run = {land = \"pr\"}\n", "run.land", text("ff"), "", "by hand"},
		"a broken file":      {"[run\n", "run.land", text("ff"), "", "not valid"},
	} {
		got, err := Edit([]byte(c.in), c.key, c.value)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || string(got) != c.want:
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("[run]\nland = \"pr\"\n", "run.land", "ff")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		out, err := Edit([]byte(text), key, &value)
		if err != nil {
			if out != nil && !errors.Is(err, ErrByHand) && !strings.Contains(err.Error(), "not valid") {
				t.Errorf("%v with a result", err)
			}
			return
		}
		if set, _ := keysIn("", out); set[key] == nil {
			t.Errorf("%q is not set in %q", key, out)
		}
	})
}
