package setup

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/measured"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
)

//go:embed explain.md
var explainText string

type explanation struct {
	Code  string `json:"code"`
	Group string `json:"group"`
	What  string `json:"what"`          // first line of the text
	Text  string `json:"text"`          // page, as markdown
	Do    string `json:"do"`            // way out
	Off   string `json:"off,omitempty"` // how to turn the rule off
	Level string `json:"level"`         // severity; "" if the message has it
}

// NewExplainCommand returns the command explain.
func NewExplainCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2", JSON: "JSON"}, &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a code of a message or finding",
		Long: `Explain what a code means, why the rule exists, and what to do. Without a code, list all codes.

Codes are stable. They are shown after the messages of runplan check, as the rule in findings of gates, and below
errors. A lesson may be named by its number, a pattern by its id.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := explanations()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				var rows ui.Rows
				for _, e := range all {
					rows.Add(e.Group, e.Code, e.What)
				}
				return a.PrintTable(all, "", []string{"group", "code", "what"}, rows)
			}
			e, ok := findExplanation(all, args[0])
			if !ok {
				return cli.Usage(fmt.Errorf("unknown code %q", args[0]),
					"runplan explain lists all codes; linters and gates of your own describe their rules themselves")
			}
			head := e.Code
			if e.Level != "" {
				head += " (" + e.Level + ")"
			}
			return a.Print(e, func() { fmt.Fprintf(a.Stdout, "%s\n\n%s\n", head, e.Text) })
		},
		ValidArgsFunction: completeCodes,
	})
}

func completeCodes(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := explanations()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lists.Map(all, func(e explanation) string { return cobra.CompletionWithDesc(e.Code, ui.Sanitize(e.What)) }),
		cobra.ShellCompDirectiveNoFileComp
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
		e := explanation{Code: code, Group: "Plans", Text: strings.TrimSpace(text)}
		if known[code] {
			e.Group = "Errors"
		}
		all = append(all, e)
	}
	for _, r := range measured.Rules() {
		level, where := severity(r)
		text := fmt.Sprintf("Finds: %s.\n%s.%s\nWhy: %s\nDo: %s\nOff: %s", r.Finds, where, measuredAs(r.ID), r.Why, r.Do,
			r.Off)
		all = append(all, explanation{Code: r.ID, Group: "Gates", Text: text, What: r.Finds, Level: level})
	}
	lib, err := lessons.Load(lessons.BuiltIn())
	if err != nil {
		return nil, err
	}
	for _, l := range lib.Lessons {
		text := fmt.Sprintf("%s.\n\n%s\n\nWrong:\n\n%s\n\nRight:\n\n%s\n\nDo: %s\n%s", l.Title, l.Body,
			indented(l.Example.Bad), indented(l.Example.Good), l.Fix, accepted(l.ID, "lessons"))
		all = append(all, explanation{Code: "lesson/" + l.ID, Group: "Lessons", Text: text, What: l.Title,
			Level: string(l.Severity)})
	}
	rules, err := patterns.Load(patterns.Builtin())
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		text := fmt.Sprintf("%s.\nLanguages: %s.\nDo: %s\n%s", r.Message, strings.Join(r.Languages, ", "), r.Note,
			accepted(r.ID, "patterns"))
		all = append(all, explanation{Code: "pattern/" + r.ID, Group: "Patterns", Text: text, What: r.Message,
			Level: string(r.Severity)})
	}
	for i := range all {
		if all[i].What == "" {
			all[i].What, _, _ = strings.Cut(all[i].Text, "\n")
		}
		_, do, _ := strings.Cut(all[i].Text, "\nDo: ")
		do, _, _ = strings.Cut(do, "\nExample:")
		all[i].Do, all[i].Off, _ = strings.Cut(do, "\nOff: ")
	}
	return all, nil
}

// severity returns the severity of a rule, and a sentence about where the rule has it.
func severity(r measured.Rule) (level, where string) {
	switch {
	case r.InRun == "-":
		return r.Outside, "Severity: " + r.Outside + "; only reviews look for it"
	case r.Outside == "-":
		return r.InRun, "Severity: " + r.InRun + "; only runs look for it"
	case r.InRun == r.Outside:
		return r.InRun, "Severity: " + r.InRun
	}
	return r.InRun, fmt.Sprintf("Severity in a run: %s; in runplan gate and runplan review: %s", r.InRun, r.Outside)
}

// measuredAs returns a sentence about the precision of a rule, "" if its findings were not judged.
func measuredAs(rule string) string {
	if p := measured.Of(rule); p.Total() > 0 {
		return " Measured as right: " + p.String() + "."
	}
	return ""
}

// accepted says how to accept one finding of a lesson or pattern, and how to turn off the gate.
func accepted(id, gate string) string {
	return fmt.Sprintf("Off: a comment \"runplan:ignore %s REASON\" accepts one place; [gates] disable = [%q] turns the "+
		"gate off.", id, gate)
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
