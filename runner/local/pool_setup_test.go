package local

import "testing"

// A room that an older script prepared must not serve a tree with another one.
func TestSetupNamesItsScripts(t *testing.T) {
	for _, c := range []struct {
		command, file string
		want          bool
	}{
		{"JEST=/opt/jest sh setup.sh", "setup.sh", true},
		{"cd web && ./tools/install.sh --quick; echo done", "tools/install.sh", true},
		{`bash -c "python3 tools/install.py"`, "tools/install.py", true},
		{"make deps", "Makefile", true},
		{"npm ci", "Makefile", false},
		{"sh setup.sh", "web/setup.sh", false},
		{"", "setup.sh", false},
	} {
		if got := (Setup{Command: c.command}).names(c.file); got != c.want {
			t.Errorf("%q names %s: %v, want %v", c.command, c.file, got, c.want)
		}
	}
	if (Setup{Command: "pip install -r requirements.txt"}).runs("requirements.txt") {
		t.Error("a list of dependencies counts as a script")
	}
}
