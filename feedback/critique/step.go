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

type kind string

// Kinds of steps that change something.
const (
	edits kind = "It edited a file"
	runs  kind = "It ran a command"
)

// Words in the tool names of agents: Edit, MultiEdit, write_file, replace, apply_patch, developer__shell,
// run_shell_command.
var (
	editing = lazyre.New(`(?i)(?:^|[^a-z])(?:multi|notebook|search_)?(?:edit|write|replace|patch|create|delete|update|add|text_editor|str_replace)|file_change`)
	running = lazyre.New(`(?i)(?:^|_)(?:bash|shell|exec|command|terminal)|^run_`)
	looking = lazyre.New(`(?i)todo|task|plan|memory|web|fetch|search(?:$|_files)|grep|glob|read|view|list|output`)
)

// kindOf returns the kind of a tool by its name, or "" if it only reads.
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

// harmless lists programs that only read. A command that uses no other program changes nothing.
var harmless = []string{
	"ls", "cat", "head", "tail", "grep", "rg", "find", "fd", "pwd", "wc", "file", "stat", "which", "type", "tree", "echo",
	"printf", "true", "cd", "sort", "uniq", "cut", "nl", "less", "du", "env",
}

var (
	between    = lazyre.New(`\|\||&&|[|;&\n]`)
	gitLooks   = lazyre.New(`^git\s+(?:-\S+\s+)*(?:status|log|diff|show|blame|grep|ls-files|rev-parse|branch$|branch\s+--show-current)\b`)
	writesAway = lazyre.New("[>`]|\\$\\(|<\\(|-delete\\b|-exec|-ok(?:dir)?\\b|-fprint")
	wrapped    = lazyre.New(`^(?:/usr)?(?:/bin/)?(?:ba|z|da)?sh\s+-l?c\s+(.*)$`)
)

// Changes reports whether a step changes something: an edit, a written file, or a command that may write (FIX-28).
func Changes(s agents.Step) bool {
	switch kindOf(s.Tool) {
	case edits:
		return true
	case runs:
		return !looksOnly(commandOf(s))
	}
	return false
}

// looksOnly reports whether a command is known to change nothing. An unknown command may change something.
func looksOnly(command string) bool {
	command = strings.TrimSpace(command)
	if m := wrapped.FindStringSubmatch(command); m != nil {
		command = strings.Trim(m[1], `'" `)
	}
	command = strings.NewReplacer("2>/dev/null", "", "2>&1", "").Replace(command)
	if command == "" || writesAway.MatchString(command) {
		return false
	}
	for _, part := range between.Split(command, -1) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, rest, _ := strings.Cut(part, " ")
		switch {
		case slices.Contains(harmless, name) && !(name == "env" && rest != "") &&
			!(name == "sort" && strings.Contains(rest, "-o")):
		case name == "sed" && strings.HasPrefix(strings.TrimSpace(rest), "-n") && !strings.Contains(rest, "w "):
		case gitLooks.MatchString(part) && !strings.Contains(part, "--output"):
		default:
			return false
		}
	}
	return true
}

// field returns an argument that tools have under several names.
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

// mostFile is the highest number of bytes of a file that is shown.
const mostFile = 8 << 10

// pathOf returns the file of a step relative to the workspace, or "" if it is outside.
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

// fileOf reads the present file of an edit, because an edit does not say where it changes the file. It follows no link
// out of the workspace.
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
		return "" // deleted or unreadable
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
