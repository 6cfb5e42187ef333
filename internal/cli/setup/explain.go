package setup

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/measured"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
)

//go:embed explain.md
var explainText string

// explanation is the page of a code.
type explanation struct {
	Code  string `json:"code"`
	Group string `json:"group"`
	What  string `json:"what"`  // first line of the text
	Text  string `json:"text"`  // page, as markdown
	Do    string `json:"do"`    // way out
	Level string `json:"level"` // severity; "" if the message has it
}

// Groups of codes, in the order of the list.
const (
	explainErrors   = "Errors"
	explainPlans    = "Plans"
	explainRules    = "Gates"
	explainLessons  = "Lessons"
	explainPatterns = "Patterns"
)

// NewExplainCommand returns the command explain.
func NewExplainCommand(a *cli.App) *cobra.Command {
	var asJSONFlag bool
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a code of a message or finding",
		Long: `Explain what a code means, why the rule exists, and what to do. Without a code, list all codes.

Codes are stable. They are shown after the messages of runplan check, as the rule in findings of gates, and below
errors. A lesson may be named by its number, a pattern by its id.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage),
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := explanations()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listExplanations(a.Stdout, all, asJSONFlag)
			}
			e, ok := findExplanation(all, args[0])
			if !ok {
				return cli.Usage(fmt.Errorf("unknown code %q", args[0]),
					"runplan explain lists all codes; rules of your own gates are described in your configuration")
			}
			if asJSONFlag {
				return cli.AsJSON(a.Stdout, e)
			}
			head := e.Code
			if e.Level != "" {
				head += " (" + e.Level + ")"
			}
			_, err = fmt.Fprintf(a.Stdout, "%s\n\n%s\n", head, e.Text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print JSON")
	return cmd
}

func listExplanations(w io.Writer, all []explanation, asJSONFlag bool) error {
	if asJSONFlag {
		return cli.AsJSON(w, all)
	}
	var rows [][]string
	for _, e := range all {
		rows = append(rows, []string{e.Group, e.Code, e.What})
	}
	return cli.Table(w, []string{"group", "code", "what"}, rows)
}

// findExplanation finds a page by its code, by the prefix before an asterisk, or by the name of a lesson or pattern.
func findExplanation(all []explanation, code string) (explanation, bool) {
	for _, try := range []string{code, "lesson/" + code, "pattern/" + code} {
		for _, e := range all {
			if prefix, ok := strings.CutSuffix(e.Code, "*"); e.Code == try || ok && strings.HasPrefix(try, prefix) &&
				try != prefix {
				return e, true
			}
		}
	}
	return explanation{}, false
}

// explanations returns all pages: those of explain.md, and those of rules, lessons and patterns from their sources.
func explanations() ([]explanation, error) {
	known := map[string]bool{}
	for _, e := range cli.ErrorCodes() {
		known[e.Code] = true
	}
	var all []explanation
	for _, section := range strings.Split("\n"+explainText, "\n## ")[1:] {
		code, text, _ := strings.Cut(section, "\n")
		e := explanation{Code: code, Group: explainPlans, Text: strings.TrimSpace(text)}
		if known[code] {
			e.Group = explainErrors
		}
		all = append(all, e)
	}
	for _, r := range measured.Rules() {
		text := fmt.Sprintf(
			"Finds: %s.\nSeverity in a run: %s; in runplan gate and runplan review: %s. Measured as right: %s.\nWhy: %s\nDo: %s",
			r.Finds, r.InRun, r.Outside, measured.Of(r.ID), gateReasons[groupOf(r.ID)].why, gateReasons[groupOf(r.ID)].do)
		all = append(all, explanation{Code: r.ID, Group: explainRules, Text: text, What: r.Finds, Level: r.InRun})
	}
	lib, err := lessons.Load(lessons.BuiltIn())
	if err != nil {
		return nil, err
	}
	for _, l := range lib.Lessons {
		text := fmt.Sprintf("%s.\n\n%s\n\nWrong:\n\n%s\n\nRight:\n\n%s\n\nDo: %s", l.Title, l.Body, indented(l.Example.Bad),
			indented(l.Example.Good), l.Fix)
		all = append(all, explanation{Code: "lesson/" + l.ID, Group: explainLessons, Text: text, What: l.Title,
			Level: string(l.Severity)})
	}
	rules, err := patterns.Load(patterns.Builtin())
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		text := fmt.Sprintf("%s.\nLanguages: %s.\nDo: %s", r.Message, strings.Join(r.Languages, ", "), r.Note)
		all = append(all, explanation{Code: "pattern/" + r.ID, Group: explainPatterns, Text: text, What: r.Message,
			Level: string(r.Severity)})
	}
	for i := range all {
		if all[i].What == "" {
			all[i].What, _, _ = strings.Cut(all[i].Text, "\n")
		}
		_, do, _ := strings.Cut(all[i].Text, "\nDo: ")
		all[i].Do, _, _ = strings.Cut(do, "\nExample:")
	}
	return all, nil
}

func groupOf(rule string) string {
	group, _, _ := strings.Cut(rule, "/")
	return group
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// gateReasons describes why rules exist, and what to do about an intended finding, by the part of the rules' names
// before the slash.
var gateReasons = map[string]struct{ why, do string }{
	"protected": {"an agent that can change its checks can make itself pass.",
		"name the file in the batch, so that the plan asks for the change; or undo it."},
	"tamper": {"a weakened check passes without proving anything.",
		"restore the test; if the batch is meant to change it, name the test file under Files in the plan."},
	"link-outside": {"such a link leads to a file that is in no commit and differs between machines.",
		"copy the file into the tree, or link to a file of the tree by a relative path."},
	"secrets": {"a committed key must be treated as public.",
		"remove it, revoke it if it was pushed, and read it from the environment; put examples into fixtures."},
	"security": {"such code lets foreign input become a query, a command or a page.",
		"use parameters or escaping of the library, as the finding says."},
	"denied": {"such a command destroys work or hides failures, and scripts run without anyone watching.",
		"narrow the command, or leave it to a person."},
	"docs": {"a dead link costs each reader time.", "correct the path, or add the file."},
	"license": {"some licences require you to publish code, which people must decide.",
		"choose another dependency, or allow the licence in [gates] after deciding it."},
	"size":   {"long files are hard to review and to change.", "split the file, or raise the limit in [gates]."},
	"memory": {"with little memory, tests fail for reasons outside of the code.", "free memory or use fewer workers."},
	"types": {"a type error is a fault even if no test runs the code.",
		"correct the types; [gates] strict_types names the files in which they block."},
	"acceptance": {"the testscripts describe what the program promises to its users.",
		"correct the code; change the script only if the promise itself changes, and name it in the batch."},
	"prose": {"such text is left over from editing, or describes other code.",
		"write what the code does, or remove it."},
	"names": {"callers of a removed public name no longer build.",
		"keep the name, or change its callers in the same batch."},
}
