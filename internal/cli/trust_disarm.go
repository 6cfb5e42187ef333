package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/trust"
)

// arming lists the gate settings that can only make gates stricter, or whose commands executables already lists.
func arming() []string {
	return []string{"gates.require_tests", "gates.strict_types", "gates.protected", "gates.strict_ast",
		"gates.min_memory_mb", "gates.format", "gates.ast_grep"}
}

// loosening lists settings outside of gates that let a run do more, check less or cost more.
func loosening() []string {
	return []string{
		"run.land", "run.strict_checkout", "run.max_attempts", "run.max_cost_usd", "run.unknown_cost", "run.max_time",
		"run.agent_timeout", "run.idle_timeout", "run.max_repeats", "run.max_attempt_tokens", "run.max_attempt_cost_usd",
		"run.on_limit", "run.fallback", "workspace.copy", "review.batches", "review.final",
	}
}

// disarming lists the repository's own settings that turn off a check, relax a gate or let data leave the machine. It
// lists all gate settings except those in [arming], so that a new setting is listed by default.
func (p *Project) disarming() []trust.Executable {
	file := p.Layout.Config()
	var out []trust.Executable
	all := p.Config.Effective()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		s := all[key]
		gate := strings.HasPrefix(key, "gates.") && !slices.Contains(arming(), key)
		if s.From != file || !gate && !slices.Contains(loosening(), key) {
			continue
		}
		what := cmp.Or(s.Text, "sha256 "+s.Sum)
		switch {
		case key == "gates.acceptance.dir":
			what = "runs the testscripts in " + what + ", which can run any program"
		case key == "run.land" && what == `"pr"`:
			what = "pushes the run branch to the remote and opens a pull request"
		case key == "run.land" && what == `"ff"`:
			what = "moves the branch that is checked out"
		}
		out = append(out, trust.Executable{Where: "setting " + key, What: what})
	}
	return out
}

// mostScript is the highest size of a script whose content is pinned, in bytes.
const mostScript = 4 << 20

// scripts pins the contents of repository files that commands name. A trusted command with a changed script is a new
// command.
func (p *Project) scripts(commands []trust.Executable) []trust.Executable {
	sums := map[string]string{}
	add := func(name string) {
		path := filepath.Join(p.Repo.Root, filepath.FromSlash(name))
		rel, err := filepath.Rel(p.Repo.Root, path)
		if err != nil || rel == "." || strings.HasPrefix(rel, "..") ||
			strings.HasPrefix(filepath.ToSlash(rel), ".runplan/config.toml") {
			return
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostScript {
			return
		}
		if data, err := os.ReadFile(path); err == nil {
			sum := sha256.Sum256(data)
			sums[filepath.ToSlash(rel)] = hex.EncodeToString(sum[:])
		}
	}
	for _, c := range commands {
		if strings.HasPrefix(c.Where, "setting ") {
			continue
		}
		dir := ""
		if rest, ok := strings.CutPrefix(c.What, "in "); ok {
			dir, _, _ = strings.Cut(rest, ": ")
		}
		for _, word := range strings.FieldsFunc(c.What,
			func(r rune) bool { return r <= ' ' || strings.ContainsRune(";|&()<>\"'`$={}[],:", r) }) {
			if rest, ok := strings.CutPrefix(word, p.Repo.Root+string(filepath.Separator)); ok {
				word = rest
			}
			add(word)
			if dir != "" {
				add(dir + "/" + word)
			}
			if word == "make" || word == "gmake" {
				for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
					add(filepath.ToSlash(filepath.Join(dir, name)))
				}
			}
			if slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, word) {
				add(filepath.ToSlash(filepath.Join(dir, "package.json")))
			}
		}
	}
	var out []trust.Executable
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, trust.Executable{Where: "script " + name, What: fmt.Sprintf("sha256 %s", sums[name][:16])})
	}
	return out
}
