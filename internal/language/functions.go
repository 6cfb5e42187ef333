package language

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var (
	// function matches the declaration of a function, a method or a variable that is a function, and a branch of case.
	function = lazyre.New(`\b(?:def|func|fn|function)\s+(?:\([^)]*\)\s*)?(?:self\.)?(\w+)|` +
		`\b(?:const|let|var|exports\.)\s*(\w+)\s*=.*(?:=>|\bfunction\b)|` +
		`^\s*(?:(?:async|static|public|private|protected|get|set)\s+)*(\w+)\s*\([^()]*\)\s*(?::[^{]+)?\{\s*$|^\s*(\w[\w|-]*)\) .*;;`)
	control = lazyre.New(`^(?:if|for|while|switch|catch|with|elif|until)$`)
	// imports matches lines that only make names known.
	imports = lazyre.New(`^\s*(?:import\b|from\b|(?:pub )?use\b|export \{|export \*|module\.exports\b|exports\.\w+ =|__all__\b|(?:const|let|var) .*\brequire\(|require)`)
)

// Depth returns the number of characters of white space before a line.
func Depth(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// IsImport reports whether a line imports or exports names.
func IsImport(line string) bool { return imports.MatchString(line) }

// Declared returns the name of the function that a line declares, or "".
func Declared(line string) string {
	m := function.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	if name := m[1] + m[2] + m[3] + m[4]; !control.MatchString(name) {
		return name
	}
	return ""
}

// Functions returns the text of each function of bare code by its name, and the other lines under "", with their
// indentation.
func Functions(code string) map[string]string {
	out := map[string]string{}
	lines := strings.Split(code, "\n")
	name, depth, ended := "", 0, true
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			continue
		}
		if !ended && Depth(line) <= depth && !strings.HasPrefix(trimmed, ")") {
			ended = true
			if strings.Trim(trimmed, "};)") == "" || trimmed == "end" {
				continue
			}
		}
		if ended {
			if name = Declared(line); name != "" {
				depth, ended = Depth(line), strings.Contains(trimmed, ";;")
				out[name] += trimmed + "\n"
				continue
			}
			if !IsImport(line) {
				out[""] += strings.TrimRight(line, " \t\r") + "\n"
			}
			continue
		}
		out[name] += trimmed + "\n"
	}
	return out
}
