package gates

import "testing"

func TestAffected(t *testing.T) {
	dir := tree(t, map[string]string{
		"lib/go.mod": "module example.com/lib\n",
		"api/go.mod": "module example.com/api\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => " +
			"../lib\n",
		"web/package.json":        `{"name": "web", "dependencies": {"ui": "workspace:*"}}`,
		"ui/package.json":         `{"name": "ui"}`,
		"jobs/setup.py":           "",
		"jobs/tool/setup.py":      "",
		"package.json":            `{"name": "all"}`,
		"examples/a/package.json": `{"dependencies": {"all": "1.0.0"}}`,
		"examples/b/package.json": `{"dependencies": {"all": "file:../.."}}`,
	})
	projects := Detect(dir)
	tests := map[string]struct {
		root    string
		changed []string
		want    bool
	}{
		"its own file":                         {"api", []string{"api/a.go"}, true},
		"another project's":                    {"api", []string{"web/a.js"}, false},
		"a module that it replaces":            {"api", []string{"lib/a.go"}, true},
		"a module that needs it":               {"lib", []string{"api/a.go"}, false},
		"a package that it names":              {"web", []string{"ui/a.js"}, true},
		"a file of no project":                 {"api", []string{"web/a.js", "shared/x.proto"}, true},
		"a file at the root":                   {"api", []string{"Makefile"}, true},
		"a project inside of it":               {"jobs", []string{"jobs/tool/a.py"}, true},
		"the project around it":                {"jobs/tool", []string{"jobs/a.py"}, true},
		"unknown changes affect everything":    {"api", nil, true},
		"an example, by the package itself":    {"examples/a", []string{"src/a.js"}, false},
		"an example, by its own file":          {"examples/a", []string{"examples/a/a.js"}, true},
		"an example that links to the package": {"examples/b", []string{"src/a.js"}, true},
		"a folder whose name begins the same":  {"api", []string{"web/api/a.js"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := affected(dir, Project{Root: tt.root}, projects, tt.changed); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
}
