package hygiene

import (
	"context"
	_ "embed"
	"path"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/tables"
)

// denial is a rule for a command that must not run.
type denial struct {
	Rule, Why string
	Re        *lazyre.Regexp
	Advice    bool // it only warns
}

//go:embed denials.toml
var denialTable string

var denials = sync.OnceValue(func() []denial {
	var t struct {
		Parts  map[string]string
		Denial []denial
	}
	tables.Read(denialTable, &t)
	parts := strings.NewReplacer("{begin}", t.Parts["begin"], "{whole}", t.Parts["whole"], "{here}", t.Parts["here"])
	for i, d := range t.Denial {
		t.Denial[i].Re = lazyre.New(parts.Replace(d.Re.String()))
	}
	return t.Denial
})

// denied returns the rules that forbid a command (GATE-20). It catches only plain forms: a command hidden behind
// variables, base64 or another language passes.
func denied(cmd string) []denial {
	if len(cmd) > 16<<10 {
		cmd = cmd[:16<<10]
	}
	return lists.Filter(denials(), func(d denial) bool { return d.Re.MatchString(cmd) })
}

// DeniedCommands makes the gate that finds dangerous commands in the scripts, makefiles and CI files of a change.
func DeniedCommands() gates.Gate {
	return gates.New(info("denied", true), func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool { return c.Status != gates.Deleted })
		if err != nil || !ok {
			return err
		}
		for _, f := range files {
			if !runs(f) {
				continue
			}
			for _, line := range joined(f.AddedLines()) {
				text := command(f.Path, line.Text)
				if text == "" {
					continue
				}
				for _, d := range denied(text) {
					sev := gates.Error
					if d.Advice || l.Subject().Literal {
						sev = gates.Warning
					}
					l.Find(gates.Finding{Rule: "denied/" + d.Rule, Severity: sev, Path: f.Path, Line: line.Number,
						Message: "this command " + d.Why, Fix: "remove it, or limit it to the intended target"})
				}
			}
		}
		return nil
	})
}

// runs reports whether a file holds commands for a shell.
func runs(f gates.File) bool {
	base, ext := path.Base(f.Path), path.Ext(f.Path)
	switch ext {
	case ".sh", ".bash", ".zsh", ".ksh", ".bats", ".mk", ".command":
		return true
	case ".yml", ".yaml":
		return true // workflows, compose files, playbooks
	}
	switch {
	case strings.HasPrefix(base, "Dockerfile"), strings.HasSuffix(base, ".dockerfile"), base == "Containerfile",
		base == "Makefile", base == "makefile",
		base == "GNUmakefile", base == "justfile", base == "Justfile", base == "Jenkinsfile", base == "Procfile",
		base == "package.json", base == "crontab":
		return true
	}
	first, _, _ := strings.Cut(f.After, "\n")
	return strings.HasPrefix(first, "#!") && strings.Contains(first, "sh")
}

// joined joins a line that ends in a backslash with the next line, if the next line is new too.
func joined(list []gates.Line) []gates.Line {
	var out []gates.Line
	for i := 0; i < len(list); i++ {
		l := list[i]
		for strings.HasSuffix(l.Text, `\`) && i+1 < len(list) && list[i+1].Number == list[i].Number+1 &&
			len(l.Text) < 16<<10 {
			i++
			l.Text = strings.TrimSuffix(l.Text, `\`) + " " + strings.TrimSpace(list[i].Text)
		}
		out = append(out, l)
	}
	return out
}

var (
	yamlRun  = lazyre.New(`^\s*(?:-\s+)?(?:["']?[\w.-]+["']?\s*:\s+)?["'|>]?\s*`)
	jsonRun  = lazyre.New(`^\s*"[^"]*"\s*:\s*"(.*)"\s*,?\s*$`)
	dockerIt = lazyre.New(`^\s*(?i:RUN|CMD|ENTRYPOINT)\s+`)
)

// command returns the part of a line that a shell gets.
func command(file, line string) string {
	t := strings.TrimSpace(line)
	if strings.HasPrefix(t, "#") || strings.HasPrefix(t, "//") {
		return ""
	}
	switch ext := path.Ext(file); {
	case ext == ".json":
		if m := jsonRun.FindStringSubmatch(line); m != nil {
			return m[1]
		}
		return ""
	case ext == ".yml" || ext == ".yaml":
		return yamlRun.ReplaceAllString(line, "")
	case strings.Contains(strings.ToLower(path.Base(file)), "dockerfile") || path.Base(file) == "Containerfile":
		return dockerIt.ReplaceAllString(line, "")
	}
	return strings.TrimLeft(t, "@-+") // of make
}
