package gates

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates/planted"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

var (
	rubyOwn    = lazyre.New(`(?m)^\s*task\s*\(?\s*(?::test\b|["']test["']|test:)`)
	rubyTask   = lazyre.New(`(?:Rake|Minitest)::TestTask(?:\.\w+[ (]*(?::|['"])([\w-]+))?`)
	rubyUnit   = lazyre.New(`require ['"]test[/-]unit['"]|Test::Unit::TestCase`)
	rubyIsSpec = lazyre.New(`\b(?:RSpec\.)?describe\b`)
	rubyTest   = lazyre.New(`^(?:test_.*|.*_test|spec_.*|.*_spec)\.rb$`)
)

// rubySuite runs RSpec on spec/, and the tests of test/ with rake, with rails or one by one.
func rubySuite(dir string, p Project) []suite {
	var specs, tests []string
	unit := rubyUnit.MatchString(readTexts(dir, p.Root, "test/helper.rb", "test/test_helper.rb", "test/lib/helper.rb"))
	for rel, name := range filesOf(dir, p, nil) {
		top, _, _ := strings.Cut(rel, "/")
		if !rubyTest.MatchString(name) || strings.HasSuffix(name, "_helper.rb") || top != "spec" && top != "test" &&
			top != "tests" {
			continue
		}
		if top == "spec" && strings.HasSuffix(name, "_spec.rb") {
			specs = append(specs, path.Join(rel, name))
			continue
		}
		tests = append(tests, path.Join(rel, name))
		unit = unit || rubyUnit.MatchString(readText(dir, path.Join(p.Root, rel), name))
	}
	if len(specs) > 0 && !usesRSpec(dir, p.Root) {
		specs, tests = nil, append(tests, specs...)
	}
	bundled := []string{}
	ruby := Tool{Name: "ruby", Program: "ruby", Version: []string{"--version"},
		Install: "https://www.ruby-lang.org/en/downloads"}
	tools := []Tool{ruby}
	if exists(dir, p.Root, "Gemfile.lock") {
		bundled = []string{"bundle", "exec"}
		tools = append(tools, bundler(p.Root))
	}
	var commands [][]string
	if len(specs) > 0 {
		commands = append(commands, append(slices.Clone(bundled), "rspec"))
		if len(bundled) == 0 {
			tools = append(tools, onPathTool("rspec", "", addsGem(dir, p.Root, "rspec")))
		}
	}
	if len(tests) > 0 {
		slices.Sort(tests)
		switch {
		case exists(dir, p.Root, "bin/rails"):
			commands = append(commands, append(slices.Clone(bundled), "ruby", "bin/rails", "test"))
		case rakeTask(rakefile(dir, p.Root)) != "":
			commands = append(commands, append(slices.Clone(bundled), "rake", rakeTask(rakefile(dir, p.Root))))
			if len(bundled) == 0 {
				tools = append(tools, onPathTool("rake", "", addsGem(dir, p.Root, "rake")))
			}
		default:
			each := "ARGV.each { |f| require File.expand_path(f) }"
			commands = append(commands, append(append(slices.Clone(bundled), "ruby", "-Ilib", "-Itest", "-e", each), tests...))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	plan := func(_ context.Context, w *Look) ([]testRun, error) {
		var out []testRun
		for _, args := range commands {
			var r testRun
			var err error
			if last := args[len(args)-1]; last == "rspec" {
				r, err = rspecRun(w, p, args, specs)
			} else {
				r, err = minitestRun(w, p, args, tests, unit)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		return out, nil
	}
	shown := phrase.Join(commands, " && ", func(args []string) string { return commandLine(p.Root, args) })
	return []suite{{project: p, command: shown, tools: tools, plan: plan}}
}

// usesRSpec reports whether the files of spec/ are for RSpec, and not for the specs of minitest.
func usesRSpec(dir, root string) bool {
	return exists(dir, root, ".rspec") || strings.Contains(gemsOf(dir, root), "rspec") ||
		strings.Contains(readText(dir, root, "spec/spec_helper.rb"), "RSpec")
}

// gemsOf returns the text of the files that name the gems of a project.
func gemsOf(dir, root string) string {
	gems := readText(dir, root, "Gemfile") + readText(dir, root, "Gemfile.lock")
	for _, files := range walk(filepath.Join(dir, filepath.FromSlash(root)), 0) {
		if spec := (marker{files: "*.gemspec"}).among(files); spec != "" {
			gems += readText(dir, root, spec)
		}
	}
	return gems
}

// bundledGem reports whether a project's lock file has a gem for which the project has no own program.
func bundledGem(dir, root, gem string) bool {
	return strings.Contains(readText(dir, root, "Gemfile.lock"), "    "+gem+" (") && !exists(dir, root, "bin/"+gem)
}

// bundler returns the program that runs gems of the lock file.
func bundler(root string) Tool {
	return onPathTool("bundle", path.Join(root, "Gemfile.lock"), "gem install bundler, then bundle install")
}

// addsGem returns the command that installs the program of a gem: with all others if the project names it.
func addsGem(dir, root, gem string) string {
	if exists(dir, root, "Gemfile") && strings.Contains(gemsOf(dir, root), gem) {
		return "bundle install"
	}
	return "gem install " + gem
}

func rakefile(dir, root string) string {
	for _, name := range []string{"Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"} {
		if text := readText(dir, root, name); text != "" {
			return text
		}
	}
	return ""
}

// rakeTask returns the task that runs the tests: test, unless all tasks for tests have other names. Then it is the
// first.
func rakeTask(rakefile string) string {
	tasks := rubyTask.FindAllStringSubmatch(rakefile, -1)
	switch {
	case rubyOwn.MatchString(rakefile),
		slices.ContainsFunc(tasks, func(m []string) bool { return m[1] == "" || m[1] == "test" }):
		return "test"
	case len(tasks) > 0:
		return tasks[0][1]
	}
	return ""
}

// rubyRun returns a call with a report of each test, in a folder outside of the tree.
func rubyRun(w *Look, p Project, args []string) (testRun, reportFile, error) {
	report, err := newReport("")
	if err != nil {
		return testRun{}, report, err
	}
	lines := func(in io.Reader) (testout.Result, error) { return testout.Lines(in, w.at(p.Root)) }
	return testRun{
		program: program{args: args, dir: p.Root, env: []string{"RUNPLAN_TEST_REPORT=" + report.folder}},
		done:    report.remove,
		read: func(r ran) testout.Result {
			res := testout.Text(r.text)
			named, ok := report.readAll(lines)
			if !ok {
				return res
			}
			if len(named.Failures) == 0 { // a file that does not load is no test
				named.Failures = res.Failures
			}
			return named
		},
	}, report, nil
}

// before returns a variable of the gates' environment with a separator after it; "" if it is not set.
func (w *Look) before(name, separator string) string {
	if text := proc.Getenv(w.environ(nil), name); text != "" {
		return text + separator
	}
	return ""
}

func rspecRun(w *Look, p Project, args, specs []string) (testRun, error) {
	r, report, err := rubyRun(w, p, args)
	if err != nil {
		return r, err
	}
	formatter, err := report.put("rspec.rb", "runplan_rspec.rb")
	if err != nil {
		return r, err
	}
	r.env = append(r.env, "SPEC_OPTS="+w.before("SPEC_OPTS", " ")+"--require "+formatter+
		" --format progress --format RunplanFormatter --no-fail-fast --no-color")
	r.exact = true
	r.plant = plantRuby(p, specs, rubyIsSpec, "rspec.rb")
	return r, nil
}

var (
	noPlugins  = lazyre.New(`Minitest\.extensions|no-plugins|load_plugins`)
	miniClass  = lazyre.New(`Minitest::(?:Test|Spec)\b|MiniTest::|ActiveSupport::TestCase|\bdescribe\b|minitest/(?:autorun|spec|global_expectations)|< [\w:]*Test(?:Case|Base)?\b`)
	rubyPicks  = lazyre.New(`(?m)--tag\b|--example\b|filter_run\b|filter_run_(?:including|when_matching)|TESTOPTS|--name\b|(?:^|\s)-[ne]\s|fdescribe|fcontext|\bfit\b|focus: true|:focus\b`)
	rubyLimits = lazyre.New(`minimum_coverage|refuse_coverage_drop|after\(:suite\)|Minitest\.after_run`)
)

func minitestRun(w *Look, p Project, args, tests []string, unit bool) (testRun, error) {
	r, report, err := rubyRun(w, p, args)
	if err != nil {
		return r, err
	}
	if unit {
		r.why = "runplan cannot plant tests for test-unit"
		return r, nil
	}
	if _, err := report.put("minitest.rb", "minitest/runplan_plugin.rb"); err != nil {
		return r, err
	}
	r.env = append(r.env, "RUBYLIB="+report.folder+string(os.PathListSeparator)+w.before("RUBYLIB", ""))
	r.exact = !slices.ContainsFunc(append(slices.Clone(tests), "test/test_helper.rb", "test/helper.rb", "Rakefile"),
		func(f string) bool {
			return noPlugins.MatchString(readText(w.subject.Dir, p.Root, f))
		})
	r.plant = plantRuby(p, tests, miniClass, "minitest.rb")
	return r, nil
}

// plantRuby appends a pair of tests to test files, so they share process, settings and product code with the existing
// tests.
func plantRuby(p Project, files []string, calls *lazyre.Regexp, pairs string) recipe {
	return func(w *Look, r *testRun, b *bed) error {
		config := readTexts(w.subject.Dir, p.Root, ".rspec", ".rspec-local", "spec/spec_helper.rb", "spec/rails_helper.rb",
			"test/test_helper.rb", "test/helper.rb", "Rakefile")
		b.masks = rubyLimits.MatchString(config)
		b.why = "no test file uses a known test runner"
		return b.sowInto(w, p, files, func(_, text string) (string, plant) {
			if !calls.MatchString(text) || strings.Contains(text, "\n__END__\n") {
				return "", plant{}
			}
			var pair plant
			if rubyPicks.MatchString(config + text) {
				pair.unsure = "the configuration selects tests and omits the planted ones"
			}
			pair.fail, pair.pass = b.pair("test_")
			word := fmt.Sprintf("X%s%d", b.word, len(b.plants))
			should := strconv.FormatBool(strings.Contains(text, ".should"))
			return "\n" + planted.Text(pairs, "WORD", word, "SHOULD", should, "FAIL", pair.fail, "PASS", pair.pass), pair
		})
	}
}
