package tasks

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/proc"
)

// suite is a test file and its tests that decide about a solution.
type suite struct {
	place
	names []string
}

// whole returns the names without subtests of Go tests that are not in the list themselves: go runs a test with all
// of its subtests, one of which did not pass.
func (s suite) whole(lang gates.Language) []string {
	if lang != gates.LangGo {
		return s.names
	}
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return !slices.Contains(s.names, top)
	})
}

// below returns the file as seen from the folder that it runs in.
func (s suite) below() string {
	if s.dir == "." {
		return s.file
	}
	return strings.TrimPrefix(s.file, s.dir+"/")
}

// withSource lets Python import packages of the folder src without installation.
func withSource(dir string, lang gates.Language, env []string) []string {
	if info, err := os.Stat(filepath.Join(dir, "src")); lang != gates.LangPython || err != nil || !info.IsDir() {
		return env
	}
	from := filepath.Join(dir, "src")
	if more := proc.Getenv(env, "PYTHONPATH"); more != "" {
		from += string(filepath.ListSeparator) + more
	}
	return append(slices.Clip(env), "PYTHONPATH="+from)
}

// quote makes a word of the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// script is tests/test.sh: it copies the tests of the commit over the answer, runs the judging ones and writes the
// reward. A test counts if its runner names it as passed and ends with 0.
func (w *work) script(gone []string) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("#!/usr/bin/env bash")
	p("# Runs the tests of this task on the repository in the current folder. It writes 1 to reward.txt and ends with 0")
	p("# if all tests of the lists pass; otherwise it writes 0 and ends with 1.")
	p("set -uo pipefail")
	p(`tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)`)
	p(`logs=${VERIFIER_LOGS:-/logs/verifier}`)
	p(`mkdir -p "$logs" || exit 2`)
	p(`echo 0 >"$logs/reward.txt"`)
	p("root=$PWD")
	p("failed=0")
	p(`cp -R "$tests/files/." . || exit 2`)
	for _, name := range gone {
		p("rm -f -- %s", quote(name))
	}
	switch w.lang {
	case gates.LangGo:
		w.goScript(p)
	case gates.LangPython:
		w.pythonScript(p)
	}
	p(`if [ "$failed" = 0 ]; then echo 1 >"$logs/reward.txt"; echo "all tests passed"; exit 0; fi`)
	p("exit 1")
	return b.String()
}

// lists returns the content of the lists of names, by file name.
func (w *work) lists() map[string]string {
	out := map[string]string{}
	for i, s := range w.suites {
		out[listName(i)] = strings.Join(s.names, "\n") + "\n"
	}
	return out
}

func listName(i int) string { return fmt.Sprintf("%d.tests", i+1) }

func (w *work) goScript(p func(string, ...any)) {
	p("run() { # LIST FOLDER PACKAGE PATTERN")
	p(`  (cd "$root/$2" && go test -count=1 -v -run "$4" "$3") >"$logs/$1.log" 2>&1 || failed=1`)
	p("  while IFS= read -r name; do")
	p(`    grep -qF -e "--- PASS: $name (" "$logs/$1.log" || { echo "not passed: $name"; failed=1; }`)
	p(`  done <"$tests/$1"`)
	p("}")
	for i, s := range w.suites {
		var top []string
		for _, name := range s.names {
			if !strings.Contains(name, "/") {
				top = append(top, regexp.QuoteMeta(name))
			}
		}
		p("run %s %s %s %s", listName(i), quote(s.dir), quote("./"+path.Dir(s.below())),
			quote("^("+strings.Join(top, "|")+")$"))
	}
}

func (w *work) pythonScript(p func(string, ...any)) {
	p(`if [ -d src ]; then export PYTHONPATH="$root/src${PYTHONPATH:+:$PYTHONPATH}"; fi`)
	p("run() { # LIST FOLDER")
	p(`  local ids=()`)
	p(`  while IFS= read -r name; do ids+=("$name"); done <"$tests/$1"`)
	p(`  (cd "$root/$2" && "${PYTHON:-python3}" -m pytest -p no:cacheprovider -rA "${ids[@]}") >"$logs/$1.log" 2>&1 || failed=1`)
	p(`  for name in "${ids[@]}"; do`)
	p(`    grep -qxF -e "PASSED $name" "$logs/$1.log" || { echo "not passed: $name"; failed=1; }`)
	p("  done")
	p("}")
	for i, s := range w.suites {
		p("run %s %s", listName(i), quote(s.dir))
	}
}
