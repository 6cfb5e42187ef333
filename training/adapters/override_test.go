package adapters

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/training"
)

// TRAIN-31: deploy writes one line, and nothing else changes.
func TestSetOverride(t *testing.T) {
	const head = "# ours\n[models]\ncoding = \"c\" # the coder\nreasoning = \"r\"\nbase_url = \"http://localhost:1\"\n"
	for name, c := range map[string]struct{ text, tag, want string }{
		"no table": {head, "c-code-v1", head + "\n[models.overrides]\nexecute_code = \"c-code-v1\"\n"},
		"no file":  {"", "c-code-v1", "[models.overrides]\nexecute_code = \"c-code-v1\"\n"},
		"a table without it": {head + "[models.overrides] # by stage\nscope = \"s\"\n[team]\nenabled = true\n", "t", head +
			"[models.overrides] # by stage\nexecute_code = \"t\"\nscope = \"s\"\n[team]\nenabled = true\n"},
		"another model": {head + "[models.overrides]\nscope = \"s\"\n  execute_code=\"old\"\n[team]\n", "t", head +
			"[models.overrides]\nscope = \"s\"\nexecute_code = \"t\"\n[team]\n"},
		"taken out": {head + "[models.overrides]\nscope = \"s\"\nexecute_code = \"old\"\n", "", head +
			"[models.overrides]\nscope = \"s\"\n"},
		"taken out, was none": {head, "", head},
		"the table comes last, without a line feed": {head + "[models.overrides]", "t", head +
			"[models.overrides]\nexecute_code = \"t\"\n"},
		"the key in another table stays": {head +
			"[models.overrides]\nscope = \"s\"\n[agents.x.env]\nexecute_code = \"a\"\n[agents.x]\ncommand = [\"c\"]\n", "t",
			head +
				"[models.overrides]\nexecute_code = \"t\"\nscope = \"s\"\n[agents.x.env]\nexecute_code = " +
				"\"a\"\n[agents.x]\ncommand = [\"c\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := SetOverride("f", []byte(c.text), training.ExecuteCode, c.tag)
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
	for _, text := range []string{
		"[models]\ncoding = \"c\"\noverrides = {execute_code = \"x\"}\n", // inline
		"[models]\ncoding = \"c\"\noverrides.execute_code = \"x\"\n",
		"[models.overrides]\n\"execute_code\" = \"x\"\n",
		"[models.overrides]\nexecute_code = \"\"\"\nx\"\"\"\n",
		"[models.overrides\n",
	} {
		if got, err := SetOverride("f", []byte(text), training.ExecuteCode, "t"); err == nil ||
			!strings.Contains(err.Error(), "write it yourself") {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
}

func FuzzSetOverride(f *testing.F) {
	f.Add([]byte("[models.overrides]\nexecute_code = \"x\"\n"), "t")
	f.Add([]byte("[models]\noverrides.scope = \"x\"\n"), "")
	f.Fuzz(func(t *testing.T, text []byte, tag string) {
		out, err := SetOverride("f", text, training.ExecuteCode, tag)
		if err == nil && tag != "" {
			if again, err := SetOverride("f", out, training.ExecuteCode, tag); err != nil || string(again) != string(out) {
				t.Errorf("%q: the second time it is %q, %v", out, again, err)
			}
		}
	})
}
