package security

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// telltale lists, by language, the modules that the rules mention.
var telltale = map[string][]string{
	"python": {
		"subprocess", "pickle", "dill", "marshal", "shelve", "random", "hashlib", "os", "os.path", "yaml", "requests",
		"httpx", "tempfile", "time", "asyncio", "sqlite3",
		"socket", "shutil", "ssl", "urllib.request",
	},
	"js": {"child_process", "crypto", "fs", "fs/promises", "path"},
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"

var (
	pyImport   = lazyre.New(`^\s*import\s+(.+)$`)
	pyFrom     = lazyre.New(`^\s*from\s+([\w.]+)\s+import\s+\(?([^()#]+)`)
	jsImport   = lazyre.New(`^\s*(?:import\s*|(?:const|let|var)\s*)\{([^}]*)\}\s*(?:from\s*|=\s*require\(\s*)["'](?:node:)?([\w/]+)["']`)
	promised   = lazyre.New(`^\s*(?:export\s+)?(?:const|let|var)\s+(\w+)\s*=\s*(?:util\.)?promisify\(\s*(?:\w+\.)?(\w+)\s*\)`)
	ownExec    = lazyre.New(`^\s*(?:export\s+)?(?:async\s+)?function\s+(exec(?:Sync)?)\s*\(`)
	goImport   = lazyre.New(`^\s*(?:import\s+)?([A-Za-z_]\w*)\s+"((?:crypto|math|os|net|path|io)[\w./]*)"`)
	versionEnd = lazyre.New(`/v\d+$`)
)

// canonical returns the lines of a file with imported names replaced by the names in the rules: sp.run( becomes
// subprocess.run(.
func canonical(lang string, lines []string) []string {
	names := map[string]string{}
	for _, line := range lines {
		imported(lang, line, func(name, full string) {
			if name != "" && full != "" && name != full && strings.Trim(name, wordBytes) == "" {
				names[name] = full
			}
		})
	}
	if lang == "js" {
		whole := strings.Join(lines, "\n")
		for _, line := range lines {
			if m := promised.FindStringSubmatch(line); m != nil && (m[2] == "exec" || names[m[2]] == "exec") {
				names[m[1]] = "exec"
			}
			if m := ownExec.FindStringSubmatch(line); m != nil && !strings.Contains(whole, "child_process") {
				names[m[1]] = "own." + m[1]
			}
		}
	}
	if len(names) == 0 {
		return lines
	}
	all := lists.Map(slices.Sorted(maps.Keys(names)), regexp.QuoteMeta)
	use := regexp.MustCompile(`(^|[^\w.$"'])(` + strings.Join(all, "|") + `)([.(])`)
	out := slices.Clone(lines)
	for i, line := range out {
		out[i] = use.ReplaceAllStringFunc(line, func(s string) string {
			m := use.FindStringSubmatch(s)
			return m[1] + names[m[2]] + m[3]
		})
	}
	return out
}

// imported calls add with each name that a line imports and its full name.
func imported(lang, line string, add func(name, full string)) {
	each := func(list, as string, full func(name string) string) {
		for part := range strings.SplitSeq(list, ",") {
			name, alias, _ := strings.Cut(strings.TrimSpace(part), as)
			name, alias = strings.TrimSpace(name), strings.TrimSpace(alias)
			alias = cmp.Or(alias, name)
			add(alias, full(name))
		}
	}
	switch lang {
	case "python":
		if m := pyFrom.FindStringSubmatch(line); m != nil && slices.Contains(telltale[lang], m[1]) {
			each(m[2], " as ", func(name string) string { return m[1] + "." + name })
		} else if m := pyImport.FindStringSubmatch(line); m != nil {
			each(m[1], " as ", func(name string) string {
				if slices.Contains(telltale[lang], name) {
					return name
				}
				return ""
			})
		}
	case "js":
		if m := jsImport.FindStringSubmatch(line); m != nil && slices.Contains(telltale[lang], m[2]) {
			each(strings.ReplaceAll(m[1], ":", " as "), " as ", func(name string) string {
				if home := path.Dir(m[2] + "/"); strings.HasPrefix(home, "fs") || home == "path" {
					return strings.TrimSuffix(home, "/promises") + "." + name
				}
				return name
			})
		}
	case "go":
		if m := goImport.FindStringSubmatch(line); m != nil {
			full := path.Base(versionEnd.ReplaceAllString(m[2], ""))
			if full == "rand" { // Go has two packages with this name
				full = strings.Split(m[2], "/")[0] + full
			}
			add(m[1], full)
		}
	}
}
