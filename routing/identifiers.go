package routing

import (
	"strings"

	"github.com/runplan/runplan/planparse"
)

// declarations lists the names that the code of a batch declares, or that it says it produces.
func declarations(b *planparse.Batch, s statement) []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if usable(name) && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, it := range s.produces {
		add(declaredIn(it.text))
	}
	planparse.EachLine(b, func(l planparse.Line) {
		if !l.Fenced {
			for _, span := range planparse.Spans(l.Text) {
				if strings.Contains(span, " ") {
					add(declaredBy(span))
				}
			}
			return
		}
		text := l.Text
		if l.Lang == "diff" || l.Lang == "patch" {
			if !strings.HasPrefix(text, "+") || strings.HasPrefix(text, "+++") {
				return
			}
			text = text[1:]
		}
		add(declaredBy(text))
	})
	return out
}

// declaredBy returns the name that a line of code in any language declares: a function, a type or an exported
// constant; "" if none.
func declaredBy(line string) string {
	indented := line != "" && (line[0] == ' ' || line[0] == '\t')
	rest := strings.TrimLeft(line, " \t")
	exported := false
	for {
		word := firstWord(rest)
		after := strings.TrimLeft(rest[len(word):], " \t")
		switch word {
		case "export", "pub":
			exported = true
			if strings.HasPrefix(after, "(") { // pub(crate)
				_, after, _ = strings.Cut(after, ")")
				after = strings.TrimLeft(after, " ")
			}
		case "default", "async", "public", "private", "protected", "internal", "static", "final", "abstract", "open",
			"override", "declare", "unsafe", "data", "sealed", "partial",
			"suspend", "virtual":
		case "func", "fn", "def", "function":
			if strings.HasPrefix(after, "(") { // the receiver of a Go method
				_, after, _ = strings.Cut(after, ")")
				after = strings.TrimLeft(after, " ")
			}
			return firstWord(strings.TrimLeft(after, "*"))
		case "class", "type", "interface", "struct", "enum", "trait", "protocol", "record", "actor", "module", "object",
			"namespace":
			return firstWord(after)
		case "const", "let", "var":
			if indented && !exported {
				return ""
			}
			return firstWord(after)
		case "CREATE", "create":
			for _, lead := range []string{"TABLE ", "IF ", "NOT ", "EXISTS "} {
				if len(after) > len(lead) && strings.EqualFold(after[:len(lead)], lead) {
					after = after[len(lead):]
				} else if lead == "TABLE " {
					return ""
				}
			}
			return firstWord(strings.TrimLeft(after, "`\"["))
		default:
			if after, ok := strings.CutPrefix(rest[len(word):], "()"); ok && word != "" &&
				strings.HasPrefix(strings.TrimLeft(after, " "), "{") {
				return word // a function of the shell
			}
			return ""
		}
		if after == rest {
			return ""
		}
		rest = after
	}
}

// declaredIn returns the name that a code span of an interface is about: Settings for "class Settings", and
// load_settings for "load_settings(path) -> Settings".
func declaredIn(span string) string {
	if name := declaredBy(span); name != "" {
		return name
	}
	word := firstWord(strings.TrimLeft(span, " *&"))
	if rest := strings.TrimLeft(span, " *&")[len(word):]; strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".") &&
		!strings.Contains(rest, "(") || strings.HasPrefix(rest, "-") {
		return "" // a path
	}
	return word
}

func firstWord(s string) string {
	n := 0
	for n < len(s) && isNameByte(s[n]) {
		n++
	}
	return s[:n]
}

// usable reports whether a name is specific. Short and common names are not.
func usable(name string) bool {
	return len(name) >= 4 && !(name[0] >= '0' && name[0] <= '9') && !common(name)
}

// common reports whether any code or text may use a name.
func common(name string) bool {
	switch strings.ToLower(strings.Trim(name, "_")) {
	case "main", "init", "setup", "teardown", "test", "tests", "run", "name", "value", "values", "data", "item", "items",
		"list", "result", "results",
		"error", "errors", "option", "options", "config", "handler", "state", "props", "string", "number", "object", "index",
		"test_main", "testmain",
		"tostring", "beforeeach", "aftereach", "describe", "module", "class", "type", "self", "this", "true", "false", "none",
		"null", "json", "text",
		"path", "file", "files", "line", "lines", "user", "users", "args", "params", "request", "response", "context",
		"process", "start", "stop", "open", "close", "read", "write",
		"load", "save", "parse", "print", "render", "update", "create", "delete", "remove", "insert", "get", "set", "add",
		"call", "exec", "execute", "help", "usage", "version",
		"new", "from", "with", "into", "next", "info", "debug", "warn", "done", "status", "body", "header", "node", "tree",
		"root", "base", "default", "build", "enter", "exit",
		"java", "script", "style", "table", "event", "events", "message", "callback", "iter", "repr", "call_args",
		"setupclass", "pass", "fail", "task", "step", "batch", "plan",
		"phase", "github", "javascript", "typescript", "cleanup", "kind", "mode", "model", "models", "view", "views",
		"component", "server", "client", "test_case", "testcase",
		"expected", "actual", "input", "output", "fixture", "mock", "helper", "helpers", "util", "utils", "logger", "check",
		"validate", "format", "filter", "apply", "reset", "clear":
		return true
	}
	return false
}

// distinctive reports whether a name is not a word of any language: it has a capital or an underscore inside.
func distinctive(name string) bool {
	if len(name) < 4 {
		return false
	}
	core := strings.Trim(name, "_$-")
	if strings.ContainsAny(core, "_-") {
		return true
	}
	for i := 1; i < len(core); i++ {
		lower, upper := core[i-1] >= 'a' && core[i-1] <= 'z', core[i] >= 'A' && core[i] <= 'Z'
		if lower && upper {
			return true
		}
	}
	return false
}

// isPlainWord reports whether a name is one word, of at least four letters.
func isPlainWord(name string) bool {
	return len(name) >= 4 && firstWord(name) == name
}
