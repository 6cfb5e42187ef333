package critique

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/lazyre"
)

// kind says what a step did.
type kind string

// The kinds of steps that change something.
const (
	edits kind = "It edited a file"
	runs  kind = "It ran a command"
)

// tools are the words of which agents make the names of their tools: Edit, MultiEdit, write_file, replace, apply_patch,
// developer__shell, run_shell_command.
var (
	editing = lazyre.New(`(?i)(?:^|[^a-z])(?:multi|notebook|search_)?(?:edit|write|replace|patch|create|delete|update|add|text_editor|str_replace)|file_change`)
	running = lazyre.New(`(?i)(?:^|_)(?:bash|shell|exec|command|terminal)|^run_`)
	looking = lazyre.New(`(?i)todo|task|plan|memory|web|fetch|search(?:$|_files)|grep|glob|read|view|list|output`)
)

// kindOf tells what a tool does by its name; "" is one that only looks.
func kindOf(tool string) kind {
	if i := strings.LastIndexAny(tool, ".:"); i >= 0 {
		tool = tool[i+1:]
	}
	switch {
	case looking.MatchString(tool):
		return ""
	case running.MatchString(tool):
		return runs
	case editing.MatchString(tool):
		return edits
	}
	return ""
}

// harmless are programs that only look. A command made of nothing else changes nothing.
var harmless = []string{
	"ls", "cat", "head", "tail", "grep", "rg", "find", "fd", "pwd", "wc", "file", "stat", "which", "type", "tree", "echo", "printf", "true", "cd", "sort", "uniq", "cut", "nl", "less", "du", "env",
}

var (
	between    = lazyre.New(`\|\||&&|[|;&\n]`)
	gitLooks   = lazyre.New(`^git\s+(?:-\S+\s+)*(?:status|log|diff|show|blame|grep|ls-files|rev-parse|branch$|branch\s+--show-current)\b`)
	writesAway = lazyre.New("[>`]|\\$\\(|<\\(|-delete\\b|-exec|-ok(?:dir)?\\b|-fprint")
	wrapped    = lazyre.New(`^(?:/usr)?(?:/bin/)?(?:ba|z|da)?sh\s+-l?c\s+(.*)$`)
)

// Changes tells whether a step changes something: an edit, a file that is written, a command that does more than look
// (FIX-28).
func Changes(s agents.Step) bool {
	switch kindOf(s.Tool) {
	case edits:
		return true
	case runs:
		return !looksOnly(commandOf(s))
	}
	return false
}

// looksOnly is true of a command that is known to change nothing. Whatever is not known may change something.
func looksOnly(command string) bool {
	command = strings.TrimSpace(command)
	if m := wrapped.FindStringSubmatch(command); m != nil {
		command = strings.Trim(m[1], `'" `)
	}
	if command == "" || writesAway.MatchString(strings.NewReplacer("2>/dev/null", "", "2>&1", "").Replace(command)) {
		return false
	}
	command = strings.NewReplacer("2>/dev/null", "", "2>&1", "").Replace(command)
	for _, part := range between.Split(command, -1) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, rest, _ := strings.Cut(part, " ")
		switch {
		case slices.Contains(harmless, name) && !(name == "env" && rest != "") && !(name == "sort" && strings.Contains(rest, "-o")):
		case name == "sed" && strings.HasPrefix(strings.TrimSpace(rest), "-n") && !strings.Contains(rest, "w "):
		case gitLooks.MatchString(part) && !strings.Contains(part, "--output"):
		default:
			return false
		}
	}
	return true
}

// field reads one of the arguments that tools have under several names.
func field(s agents.Step, names ...string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(s.Input), &m) != nil {
		return ""
	}
	for _, n := range names {
		var text string
		var list []string
		switch {
		case json.Unmarshal(m[n], &text) == nil && text != "":
			return text
		case json.Unmarshal(m[n], &list) == nil && len(list) > 0:
			return strings.Join(list, " ")
		}
	}
	return ""
}

func commandOf(s agents.Step) string {
	if c := field(s, "command", "cmd", "script"); c != "" {
		return c
	}
	return s.Text
}

// mostFile is how much of a file is shown.
const mostFile = 8 << 10

// pathOf is the file of a step as seen from the workspace, "" where it is none in there.
func (w *Watcher) pathOf(s agents.Step) string {
	p := field(s, "file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file")
	if p == "" {
		return ""
	}
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(w.a.Dir, p)
		if err != nil {
			return ""
		}
		p = rel
	}
	if !filepath.IsLocal(p) {
		return ""
	}
	return filepath.ToSlash(p)
}

// fileOf reads the file of an edit as it is now: an edit says what it changes and not where. No link leads out of the
// workspace.
func (w *Watcher) fileOf(s agents.Step) string {
	p := w.pathOf(s)
	if p == "" || kindOf(s.Tool) != edits {
		return ""
	}
	root, err := os.OpenRoot(w.a.Dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	name := filepath.FromSlash(p)
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "" // it is gone, or no file that could be read to its end
	}
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil || slices.Contains(data, 0) {
		return ""
	}
	text := string(data)
	if len(data) > mostFile {
		text = strings.ToValidUTF8(text[:mostFile], "") + "\n[…]\n"
	}
	return text
}
