package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages returns the npm packages that cases use, by the name that "needs:" has for them.
func packages() map[string][]string {
	return map[string][]string{
		"jest":   {"jest@29.7.0"},
		"mocha":  {"mocha@10.8.2"},
		"vitest": {"vitest@2.1.9", "typescript@5.9.3"},
	}
}

// tools finds the programs that cases need and installs the npm packages once, in the user's cache.
func (l *lab) tools() error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	l.cacheDir = filepath.Join(cache, "runplan-attack")
	bin := filepath.Join(l.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	l.path = bin + string(os.PathListSeparator) + withoutShims(os.Getenv("PATH"))
	l.python(bin)
	if l.gocache, err = goEnv("GOCACHE"); err != nil {
		return err
	}
	l.truth = filepath.Join(l.cacheDir, "gocache")
	l.gates = filepath.Join(l.cacheDir, "gate-gocache")
	for _, dir := range []string{l.truth, l.gates} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for name, list := range packages() {
		l.install(name, list)
	}
	return nil
}

func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// withoutShims drops the folders of version managers, which choose a program by the home that a case does not have.
func withoutShims(path string) string {
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if !strings.Contains(dir, "/.pyenv/") {
			out = append(out, dir)
		}
	}
	return strings.Join(out, string(os.PathListSeparator))
}

// python links a Python with pytest into bin, if there is one.
func (l *lab) python(bin string) {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		at, err := exec.LookPath(name)
		if err != nil || exec.Command(at, "-c", "import pytest").Run() != nil {
			continue
		}
		for _, link := range []string{"python3", "python"} {
			_ = os.Symlink(at, filepath.Join(bin, link)) // without it the one on PATH is used
		}
		return
	}
	l.missing["pytest"] = "python3 has no pytest"
}

// install installs npm packages in a folder of the cache that is named for them.
func (l *lab) install(name string, list []string) {
	dir := filepath.Join(l.cacheDir, "npm", name+"-"+
		strings.NewReplacer("@", "-", "/", "-").Replace(strings.Join(list, "-")))
	if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
		l.modules[name] = dir
	} else if err := npmInstall(dir, list); err != nil {
		l.missing[name] = err.Error()
		return
	}
	l.modules[name] = dir
	link := filepath.Join(l.dir, "modules", name)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err == nil {
		err = os.Symlink(dir, link)
		if err != nil {
			l.missing[name] = err.Error()
		}
	}
}

func npmInstall(dir string, list []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"private\": true}\n"), 0o644); err != nil {
		return err
	}
	cmd := exec.Command("npm", append([]string{"install", "--no-audit", "--no-fund"}, list...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w: %s", strings.Join(list, " "), err, last(string(out), 200))
	}
	return os.WriteFile(filepath.Join(dir, "done"), nil, 0o644)
}

// modulesRoot returns the folder that has a folder for each installed npm package.
func (l *lab) modulesRoot() string { return filepath.Join(l.dir, "modules") }

// toolEnv points tools to the real home for their parts, because the home of a case is empty.
func (l *lab) toolEnv() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var out []string
	for name, dir := range map[string]string{"RUSTUP_HOME": ".rustup"} {
		if _, err := os.Stat(filepath.Join(home, dir)); err == nil {
			out = append(out, name+"="+filepath.Join(home, dir))
		}
	}
	return out
}

// lacks returns why a case cannot run on this machine, or "".
func (l *lab) lacks(c *attackCase) string {
	for _, tool := range c.needs {
		if why := l.missing[tool]; why != "" {
			return why
		}
		if _, ok := packages()[tool]; ok || tool == "pytest" {
			continue
		}
		if _, err := exec.LookPath(tool); err != nil {
			return "missing " + tool
		}
	}
	return ""
}

// last returns the end of a text, in one line.
func last(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return strings.ReplaceAll(s, "\n", " | ")
}
