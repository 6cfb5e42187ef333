package gates

import (
	"path"
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
		word := strings.TrimSuffix(path.Base(strings.Trim(words[0], `"'`)), ".js")
		switch {
		case strings.Contains(words[0], "=") &&
			!strings.HasPrefix(words[0], "-"), word == "cross-env", word == "npx", word == "c8", word == "nyc", word == "env":
			alone = alone && word != "c8" && word != "nyc"
			words = words[1:]
			for len(words) > 0 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
			continue
		case word == "jest", word == "react-scripts" && len(words) > 1 && words[1] == "test":
			return nodeCall{tool: "jest", depth: depth, script: last, alone: alone}
		case word == "vitest", word == "vitest.mjs":
			return nodeCall{tool: "vitest", depth: depth, script: last, alone: alone}
		case word == "bun" && len(words) > 1 && words[1] == "test":
			return nodeCall{tool: "bun", depth: depth, script: last, alone: alone}
		case word == "mocha", word == "_mocha", word == "mocha.mjs":
			return nodeCall{tool: "mocha", depth: depth, script: last, alone: alone}
		case word == "node", word == "tsx":
			for i, w := range words[1:] {
				if w == "--test" {
					return nodeCall{tool: "node", depth: depth, script: last, alone: alone}
				}
				base := strings.TrimSuffix(strings.TrimSuffix(path.Base(w), ".js"), ".mjs")
				if base == "jest" || base == "mocha" || base == "vitest" || base == "_mocha" {
					words = append([]string{base}, words[i+2:]...)
					break
				}
			}
			if words[0] != "node" && words[0] != "tsx" {
				continue
			}
			return unknown("the test script runs node without --test")
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
