package app

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The reference contains each command with all of its flags, and each flag has a description.
func TestReferenceIsComplete(t *testing.T) {
	text := document(t, "docs/cli.md")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		_, section, ok := strings.Cut(text, "\n## "+c.CommandPath()+"\n")
		if !ok {
			t.Errorf("docs/cli.md does not have %s", c.CommandPath())
		}
		section, _, _ = strings.Cut(section, "\n## ")
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || f.Name == "version" {
				return
			}
			if f.Usage == "" {
				t.Errorf("%s --%s does not say what it does", c.CommandPath(), f.Name)
			}
			if !strings.Contains(section, "--"+f.Name) {
				t.Errorf("docs/cli.md: %s does not have --%s", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Commands())
}

// README.md and docs/cli.md list each exit code with its meaning.
func TestExitCodesAreDocumented(t *testing.T) {
	for _, name := range []string{"README.md", "docs/cli.md"} {
		text := strings.ReplaceAll(document(t, name), "`", "")
		for _, e := range cli.ExitCodes() {
			// "| 4 | stopped by a limit" in a table, "  4  stopped by a limit" in a help text
			row := regexp.MustCompile(fmt.Sprintf(`(?m)^[|\s]*%d[|\s]+%s`, e.Code, regexp.QuoteMeta(e.Meaning)))
			if !row.MatchString(text) {
				t.Errorf("%s does not say that exit code %d means %q", name, e.Code, e.Meaning)
			}
		}
	}
}

// Documents show only command lines whose command and flags exist.
func TestDocumentsShowExistingCommands(t *testing.T) {
	docs, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	docs = append(docs, filepath.Join(root(t), "README.md"))
	line := regexp.MustCompile("(?m)^\\s*(?:\\$ )?runplan((?: [^`#|&;\n]+)?)")
	for _, path := range docs {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?ms)^```(?:console|sh|bash)\n(.*?)^```").FindAllStringSubmatch(string(src),
			-1) {
			for _, m := range line.FindAllStringSubmatch(block[1], -1) {
				if err := known(strings.Fields(m[1])); err != nil {
					t.Errorf("%s: runplan%s: %v", filepath.Base(path), m[1], err)
				}
			}
		}
	}
}

// known returns an error if the command of a command line or one of its flags does not exist.
func known(args []string) error {
	top := Commands()
	top.InitDefaultCompletionCmd()
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, ".md") }) {
		args = withRun(top, args)
	}
	cmd, rest, err := top.Find(args)
	if err != nil {
		return err
	}
	if cmd == top && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("there is no command %s", rest[0])
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	for i, a := range rest {
		if i > 0 && cmd.Flags().Lookup(strings.TrimLeft(rest[i-1], "-")) != nil {
			continue // it may be the value of the flag before it
		}
		name, isLong := strings.CutPrefix(a, "--")
		name, _, _ = strings.Cut(name, "=")
		if isLong && name != "" && cmd.Flags().Lookup(name) == nil {
			return fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
		}
	}
	return nil
}

// The sample settings load without an unknown key.
func TestSampleSettings(t *testing.T) {
	path := filepath.Join(root(t), "examples", "agents", "config.toml")
	c, err := config.Load([]string{path}, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Agents) == 0 {
		t.Error("no agents in the samples")
	}
}

// Documents show only settings that exist. A block may be part of a file, so that settings may be missing; a block of
// another file names that file in its first line.
func TestDocumentsShowExistingSettings(t *testing.T) {
	docs, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```toml\n(.*?)^```")
	otherFile := regexp.MustCompile(`^# \S*/(\S+\.toml)\n`)
	shown := 0
	for _, path := range append(docs, filepath.Join(root(t), "README.md")) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks.FindAllStringSubmatch(string(src), -1) {
			if m := otherFile.FindStringSubmatch(block[1]); m != nil && m[1] != "config.toml" {
				continue
			}
			shown++
			file := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := config.Load([]string{file}, func(string) (string, bool) { return "", false })
			if err != nil && !strings.Contains(err.Error(), " is missing") {
				t.Errorf("%s: %v, in:\n%s", filepath.Base(path), err, block[1])
			}
		}
	}
	if shown < 10 {
		t.Errorf("only %d blocks were read", shown)
	}
}

// The embedded agent can run each example plan unchanged.
func TestExamplePlans(t *testing.T) {
	plans, err := filepath.Glob(filepath.Join(root(t), "examples", "*", "plan.md"))
	if err != nil || len(plans) == 0 {
		t.Fatalf("no plans among the examples (%v)", err)
	}
	for _, path := range plans {
		plan, _, err := cli.ReadPlan(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := routing.Decide(plan, routing.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if prose := prepare.ProseLines(prepare.Due(plan, d)); len(plan.Errors()) > 0 || len(prose) > 0 {
			t.Errorf("%s: %v %v", path, plan.Errors(), prose)
		}
		if r := planparse.Check(plan); r.Score < 90 {
			t.Errorf("%s scores %d", path, r.Score)
		}
	}
}
