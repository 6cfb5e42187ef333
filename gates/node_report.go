package gates

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/proc"
)

var npmNodeOptions = lazyre.New(`(?m)^\s*node[-_]options\s*=\s*(.+?)\s*$`)

var notFound = lazyre.New(`Cannot find module '\.{1,2}/|ERR_MODULE_NOT_FOUND`)

// unloaded marks the files that ended before their first test because an imported file is missing. node:test reports
// such a file as a test named by its path.
func unloaded(res testout.Result, text string) testout.Result {
	if !notFound.MatchString(text) {
		return res
	}
	for i := range res.Failures {
		f := &res.Failures[i]
		f.Build = f.Build || f.Name == f.Group && f.Group != "" && f.Message == "test failed"
	}
	return res
}

// nodeReported returns the call args with a reporter outside of the tree that names each test, if the runner is
// known.
func nodeReported(w *Look, p Project, call nodeCall, args []string) (testRun, error) {
	out := testRun{program: program{args: args, dir: p.Root, shown: args}, why: call.why}
	manager := ""
	if call.part != "" {
		manager = args[0]
		out.env = append(out.env, "PATH="+nodePrograms(w.subject.Dir, p.Root)+w.before("PATH", ""))
	} else if args[len(args)-1] == "test" && args[0] != "node" {
		manager = args[0]
	}
	switch {
	case call.tool == "":
		out.about, out.rest = p.Marker, call.part != "" // whether the command passes is all that is known
		return out, nil
	case call.tool == "node" &&
		(strings.Contains(call.script, "--test-reporter") || strings.Contains(call.script, "NODE_OPTIONS")):
		out.why, out.about = "the test script sets its own reporters or node options", p.Marker
		return out, nil
	}
	dir := w.at(p.Root)
	report, err := newReport(map[string]string{"node": "node.mjs", "mocha": "mocha.cjs"}[call.tool])
	if err != nil {
		return out, err
	}
	var more []string
	read := func(in io.Reader) (testout.Result, error) { return testout.Lines(in, dir) }
	switch call.tool {
	case "node":
		options := []string{"--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=" + report.script,
			"--test-reporter-destination=" + report.name}
		if manager == "" {
			out.args = append(append([]string{}, args...), options...)
			break
		}
		set := strings.Join(options, " ")
		// npm's own setting replaces that of the environment
		if own := proc.Getenv(toolEnv(w.subject.Env, nil), "NODE_OPTIONS"); own != "" {
			set = own + " " + set
		}
		if m := npmNodeOptions.FindStringSubmatch(readText(w.subject.Dir, p.Root, ".npmrc")); m != nil {
			set = strings.Trim(m[1], `"'`) + " " + set
			out.env = append(out.env, "NPM_CONFIG_NODE_OPTIONS="+set)
		}
		out.env = append(out.env, "NODE_OPTIONS="+set)
	case "jest":
		more = []string{"--json", "--outputFile=" + report.name, "--bail=0"}
		read = func(in io.Reader) (testout.Result, error) { return testout.JestJSON(in, dir, " › ") }
	case "vitest":
		more = []string{"--reporter=default", "--reporter=json", "--outputFile.json=" + report.name, "--bail=0"}
		read = func(in io.Reader) (testout.Result, error) { return testout.JestJSON(in, dir, " > ") }
	case "bun":
		more = []string{"--reporter=junit", "--reporter-outfile=" + report.name}
		read = func(in io.Reader) (testout.Result, error) { return testout.Bun(in, dir) }
	case "mocha":
		more = []string{"--reporter", report.script}
		if !oldMocha(w.subject.Dir, p.Root) {
			more = append(more, "--no-bail")
		}
	}
	switch {
	case len(more) > 0 && manager != "":
		out.args = call.behind(manager, more)
	case len(more) > 0:
		out.args = append(append([]string{}, args...), more...)
	}
	out.exact, out.done = true, report.remove
	out.read = func(r ran) testout.Result {
		if res, ok := report.read(read); ok {
			return unloaded(res, r.text)
		}
		return testout.Text(r.text)
	}
	config := readTexts(w.subject.Dir, p.Root, "package.json", "jest.config.js", "jest.config.ts", "jest.config.mjs",
		"jest.config.cjs", "vitest.config.ts", "vitest.config.js", "vite.config.ts", "vite.config.js",
		".mocharc.json", ".mocharc.js", ".mocharc.cjs", ".mocharc.yml", ".mocharc.yaml", ".nycrc", ".nycrc.json",
		".c8rc.json")
	out.plant = plantNode(p, call.tool, nodeTestFiles(w.subject.Dir, p), config, call.script, call.alone)
	return out, nil
}

// nodePrograms returns the folders of the programs of a package's dependencies, with a separator behind each.
func nodePrograms(dir, root string) string {
	var out strings.Builder
	above(root, func(at string) bool {
		out.WriteString(filepath.Join(dir, filepath.FromSlash(at), "node_modules/.bin") + string(filepath.ListSeparator))
		return false
	})
	return out.String()
}

var mochaVersion = lazyre.New(`"version":\s*"v?[0-5]\.`)

// oldMocha reports whether the installed mocha is older than version 6, which has no option --no-bail.
func oldMocha(dir, root string) bool {
	at, ok := upwards(dir, root, "node_modules/mocha/package.json")
	return ok && mochaVersion.MatchString(readText(dir, ".", at))
}
