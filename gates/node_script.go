package gates

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// nodeCall is a test script of package.json, or a part of one, that ends in one call of a known runner.
type nodeCall struct {
	tool   string // "node", "jest", "vitest", "mocha" or "bun"; "" if unknown
	why    string // why none is known
	depth  int    // scripts between `npm test` and the call
	script string // the text of the call
	alone  bool   // no script runs after it
	part   string // the commands to run, if the call is a part of the test script
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
	if text == "" || depth > 3 {
		return nodeCall{why: "the script " + name + " of package.json is empty"}
	}
	parts := strings.Split(text, "&&")
	c := p.nodeCommand(strings.TrimSpace(parts[len(parts)-1]), depth)
	c.alone = c.alone && p.Scripts["post"+name] == ""
	return c
}

// nodeCommand finds the runner that one command of a script calls.
func (p nodePackage) nodeCommand(last string, depth int) nodeCall {
	unknown := func(why string) nodeCall { return nodeCall{why: why} }
	if strings.ContainsAny(last, "|;&<>`#()") || strings.Contains(last, "$(") {
		return unknown("the test script does not end in a plain call of a test runner")
	}
	alone := true
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
			name := scriptCalled(words)
			if name == "" {
				return unknown("the test script ends in a call of " + word + " with arguments")
			}
			c := p.nodeScript(name, depth+1)
			c.alone = c.alone && alone
			return c
		}
		return unknown("the test script ends in " + words[0] + ", which is not a known test runner")
	}
	return unknown("the test script does not end in a call of a test runner")
}

// scriptCalled returns the script that a command runs with a package manager, without arguments; "" for any other.
func scriptCalled(words []string) string {
	if len(words) > 2 && words[1] == "run" {
		words = append(words[:1:1], words[2:]...)
	}
	managers := []string{"npm", "pnpm", "yarn", "bun"}
	if len(words) != 2 || strings.HasPrefix(words[1], "-") || !slices.Contains(managers, programName(words[0])) {
		return ""
	}
	return words[1]
}

// nodeParts divides the test script behind each call of a known runner, so that each one reports its own tests. The
// last part may be other commands, such as a check of types. It returns nil if the only call of a known runner is at
// the end of the script, if there is none, or if the commands share a shell.
func (p nodePackage) nodeParts(manager string) []nodeCall {
	var out []nodeCall
	var before []string
	for _, command := range p.commands("test", manager, 0) {
		before = append(before, command)
		if c := p.nodeCommand(command, 0); c.tool != "" {
			c.part, before = strings.Join(before, " && "), nil
			out = append(out, c)
		}
	}
	last := p.nodeScript("test", 0)
	if len(out) == 0 || len(out) == 1 && last.tool != "" {
		return nil
	}
	if len(before) > 0 {
		why := cmp.Or(last.why, "the test script runs other commands after its tests")
		out = append(out, nodeCall{part: strings.Join(before, " && "), why: why})
	}
	return out
}

// commands returns the commands that a script runs one after the other. A call of a script that has a known runner, but
// not at its end, is replaced by its commands. It returns nil if a command needs the shell of the others.
func (p nodePackage) commands(name, manager string, depth int) []string {
	if p.Scripts[name] == "" || depth > 3 ||
		strings.ContainsAny(strings.ReplaceAll(p.Scripts[name], "&&", ""), "|;&<>`#()$\n") {
		return nil
	}
	var out []string
	add := func(script string) {
		if p.Scripts[script] != "" {
			out = append(out, manager+" run "+script)
		}
	}
	add("pre" + name)
	for command := range strings.SplitSeq(p.Scripts[name], "&&") {
		words := strings.Fields(command)
		if len(words) == 0 || strings.Count(command, `"`)%2+strings.Count(command, "'")%2 > 0 ||
			slices.Contains([]string{"cd", "export", "set", "source", "."}, words[0]) {
			return nil
		}
		command = strings.TrimSpace(command)
		if script := scriptCalled(words); script != "" && p.nodeCommand(command, depth).tool == "" {
			inner := p.commands(script, manager, depth+1)
			if slices.ContainsFunc(inner, func(c string) bool { return p.nodeCommand(c, depth).tool != "" }) {
				out = append(out, inner...)
				continue
			}
		}
		out = append(out, command)
	}
	add("post" + name)
	return out
}

// shell returns a call of the shell that package managers use.
func shell(text string) []string { return []string{"sh", "-c", text} }

// behind appends arguments for the runner to a call of the package manager.
func (c nodeCall) behind(manager string, args []string) []string {
	if c.part != "" { // the command itself names its package manager
		out := []string{c.part}
		if slices.Contains(strings.Fields(c.part[strings.LastIndex(c.part, "&&")+1:]), "npm") {
			out = append(out, slices.Repeat([]string{"--"}, c.depth)...)
		}
		return shell(strings.Join(append(out, lists.Map(args, quote)...), " "))
	}
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
