package gates

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// nodeCall is a test script of package.json that ends in one call of a known runner.
type nodeCall struct {
	tool   string // "node", "jest", "vitest", "mocha" or "bun"; "" if unknown
	why    string // why none is known
	depth  int    // scripts between `npm test` and the call
	script string // the text of the call
	alone  bool   // no script runs after it
}

// nodeRunners maps the commands of test runners to their names.
var nodeRunners = map[string]string{"jest": "jest", "react-scripts test": "jest", "vitest": "vitest", "bun test": "bun",
	"mocha": "mocha", "_mocha": "mocha"}

// programName returns the name of a program without its folder, and that of a script without its ending.
func programName(word string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path.Base(strings.Trim(word, `"'`)), ".js"), ".mjs")
}

// nodeScript finds the runner that a script ends in. Arguments after the script reach the last command.
func (p nodePackage) nodeScript(name string, depth int) nodeCall {
	text := strings.TrimSpace(p.Scripts[name])
	unknown := func(why string) nodeCall { return nodeCall{why: why} }
	if text == "" || depth > 3 {
		return unknown("the script " + name + " of package.json is empty")
	}
	parts := strings.Split(text, "&&")
	last := strings.TrimSpace(parts[len(parts)-1])
	if strings.ContainsAny(last, "|;&<>`#()") || strings.Contains(last, "$(") {
		return unknown("the test script does not end in a plain call of a test runner")
	}
	alone := p.Scripts["post"+name] == ""
	words := strings.Fields(last)
	for len(words) > 0 {
		word := programName(words[0])
		tool := nodeRunners[word]
		if len(words) > 1 {
			tool = cmp.Or(tool, nodeRunners[word+" "+words[1]])
		}
		switch {
		case strings.Contains(words[0], "=") &&
			!strings.HasPrefix(words[0], "-"), word == "cross-env", word == "npx", word == "c8", word == "nyc", word == "env":
			alone = alone && word != "c8" && word != "nyc"
			words = words[1:]
			for len(words) > 0 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
			continue
		case tool != "":
			return nodeCall{tool: tool, depth: depth, script: last, alone: alone}
		case word == "node", word == "tsx":
			at := slices.IndexFunc(words[1:], func(w string) bool { return w == "--test" || nodeRunners[programName(w)] != "" })
			if at < 0 {
				return unknown("the test script runs node without --test")
			}
			if words = words[at+1:]; words[0] == "--test" {
				return nodeCall{tool: "node", depth: depth, script: last, alone: alone}
			}
			continue
		case word == "npm", word == "pnpm", word == "yarn", word == "bun":
			if len(words) > 2 && words[1] == "run" {
				words = append(words[:1], words[2:]...)
			}
			if len(words) != 2 || strings.HasPrefix(words[1], "-") {
				return unknown("the test script ends in a call of " + word + " with arguments")
			}
			c := p.nodeScript(words[1], depth+1)
			c.alone = c.alone && alone
			return c
		}
		return unknown("the test script ends in " + words[0] + ", which is not a known test runner")
	}
	return unknown("the test script does not end in a call of a test runner")
}

// behind appends arguments for the runner to a call of the package manager.
func (c nodeCall) behind(manager string, args []string) []string {
	out := []string{manager, "test"}
	if manager == "bun" || manager == "pnpm" { // pnpm test reads options itself and rejects unknown ones
		out = []string{manager, "run", "test"}
	}
	if manager == "npm" {
		for range c.depth + 1 {
			out = append(out, "--")
		}
	}
	return append(out, args...)
}
