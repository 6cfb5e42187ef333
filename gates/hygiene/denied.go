package hygiene

import (
	"context"
	"path"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// denial is a rule for a command that must not run.
type denial struct {
	rule, why string
	re        *lazyre.Regexp
	advice    bool // it only warns
}

const (
	begin = `(?:^|[;&|({\x60]|\b(?:sudo|then|do|else|exec|xargs|time|nohup|env|command)\s+(?:-\w+\s+)*)\s*`
	whole = `["']?(?:/|/\*|~/?|\$\{?HOME\}?/?(?:\*)?|/(?:bin|boot|dev|etc|home|lib|opt|root|sbin|sys|usr|var)/?(?:\*)?|\.\./?|\./?)["']?(?:\s|$|[;&|)])`
	here  = `["']?(?:\./)?\*["']?(?:\s|$|[;&|)])`
)

var denials = []denial{
	{"removes-all", "removes a whole system, home or tree",
		lazyre.New(begin + `rm\s+(?:-\w+\s+|--[\w-]+\s+)*-(?:\w*[rR]\w*|-recursive)\s+(?:-\w+\s+|--[\w-]+\s+)*` + whole),
		false},
	{"removes-folder", "removes the whole current folder",
		lazyre.New(begin + `rm\s+(?:-\w+\s+|--[\w-]+\s+)*-(?:\w*[rR]\w*|-recursive)\s+(?:-\w+\s+|--[\w-]+\s+)*` + here),
		true},
	{"removes-all", "removes a path that is empty if its variable is empty",
		lazyre.New(begin + `rm\s+(?:-\w+\s+)*-\w*[rR]\w*\s+(?:-\w+\s+)*["']?\$\{?\w+\}?["']?/(?:\*|\s|$)`), false},
	{"removes-git", "removes the repository's history",
		lazyre.New(begin + `rm\s+(?:-\w+\s+)*-\w*[rR]\w*\s+(?:-\w+\s+)*["']?(?:\S*/)?\.git/?["']?(?:\s|$|[;&|)])`), false},
	{"find-delete", "deletes everything it finds in a whole system or home",
		lazyre.New(begin + `find\s+["']?(?:/|~|\$\{?HOME\}?)["']?\s[^;|&]*(?:-delete\b|-exec\s+rm\b)`), false},
	{"writes-device", "overwrites a disk",
		lazyre.New(begin +
			`dd\s[^;|&]*\bof=/dev/(?:sd|hd|nvme|vd|xvd|mmcblk|disk|mapper)|>\s*/dev/(?:sd|hd|nvme|vd|xvd|mmcblk|disk)\w*`),
		false},
	{"makes-filesystem", "formats a disk",
		lazyre.New(begin + `(?:mkfs(?:\.\w+)?|mke2fs|wipefs|fdisk|parted|shred)\s+(?:-\S+\s+)*\S*/dev/`), false},
	{"opens-all", "makes everything writable for all users",
		lazyre.New(begin + `ch(?:mod\s+(?:-\w+\s+)*(?:0?777|a\+rwx|ugo\+rwx)|own\s+(?:-\w+\s+)*\S+)\s+(?:` + whole + `|` +
			here + `)`), false},
	{"fork-bomb", "starts itself without end", lazyre.New(`:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:`),
		false},
	{"force-push", "rewrites published history",
		lazyre.New(begin + `git\s+(?:-\S+\s+(?:\S+\s+)?)*push\b[^;|&]*(?:\s--force(?:\s|$|=)|\s-\w*f\w*(?:\s|$)|\s\+\w)`),
		false},
	{"rewrites-history", "rewrites history",
		lazyre.New(begin + `git\s+(?:filter-branch|filter-repo|reflog\s+expire|update-ref\s+-d)\b`), false},
	{"skips-hooks", "bypasses the repository's hooks",
		lazyre.New(begin + `git\s+(?:commit|push|merge)\b[^;|&]*\s--no-verify\b`), true},
	{"pipe-to-shell", "runs code from the network without a check",
		lazyre.New(`\b(?:curl|wget|fetch)\b[^;&]*\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:/(?:usr/)?bin/)?(?:env\s+)?(?:ba|z|da|k|fi)?sh\b|\b(?:ba|z)?sh\s+(?:-c\s+["']?\$\(|<\()\s*(?:curl|wget)\b|\b(?:source|\.|eval)\s+["']?(?:<\(|\$\()\s*(?:curl|wget)\b|\b(?:curl|wget)\b[^;&]*\|\s*(?:sudo\s+)?(?:python\d?|node|perl|ruby)\b`), true},
	{"shuts-down", "stops the machine", lazyre.New(begin + `(?:shutdown|reboot|halt|poweroff|init\s+[06])\b(?:\s|$)`),
		false},
	{"kills-all", "ends every process", lazyre.New(begin + `kill\s+(?:-\w+\s+)+-1\b`), false},
	{"disables-firewall", "disables the firewall",
		lazyre.New(begin + `(?:iptables\s+(?:-F|--flush)|ufw\s+disable|setenforce\s+0)\b`), false},
	{"drops-database", "drops a database",
		lazyre.New(`(?i)\b(?:psql|mysql|mariadb|sqlcmd|mongo\w*)\b[^|;&]*\bdrop\s*(?:database|schema)|` + begin + `dropdb\s`),
		true},
	{"reads-credentials", "sends credentials away",
		lazyre.New(`(?:~|\$\{?HOME\}?|/root|/home/\w+)/\.(?:ssh|aws|netrc|gnupg|config/gh)\b[^;&]*\|\s*(?:curl|wget|nc|ncat|base64)\b|\b(?:curl|wget)\b[^;&]*(?:-d|--data\S*|-F|-T|--upload-file)\s*@?(?:~|\$\{?HOME\}?)/\.(?:ssh|aws|netrc|gnupg)`), false},
}

// denied returns the rules that forbid a command (GATE-20). It catches only plain forms: a command hidden behind
// variables, base64 or another language passes.
func denied(cmd string) []denial {
	if len(cmd) > 16<<10 {
		cmd = cmd[:16<<10]
	}
	return lists.Filter(denials, func(d denial) bool { return d.re.MatchString(cmd) })
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
					if d.advice || l.Subject().Literal {
						sev = gates.Warning
					}
					l.Find(gates.Finding{Rule: "denied/" + d.rule, Severity: sev, Path: f.Path, Line: line.Number,
						Message: "this command " + d.why, Fix: "remove it, or limit it to the intended target"})
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
