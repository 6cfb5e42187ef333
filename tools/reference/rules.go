package main

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates/measured"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
)

// rulesPage renders all rules with their severity and measured precision into one page of markdown.
func rulesPage() (string, error) {
	lib, err := lessons.Load(lessons.BuiltIn())
	if err != nil {
		return "", err
	}
	rules, err := patterns.Load(patterns.Builtin())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	commits, repositories := measured.Sample()
	fmt.Fprintf(&b, `# Rules

This page is generated: %[1]smake generate%[1]s.

A rule reports what a change did. Findings in older lines are known: they are shown, and never block. An error blocks, a
warning does not, and an info is a remark. %[1]srunplan explain RULE%[1]s also says why a rule exists, what to do about a
finding, and how to turn the rule off. Linters, plugins and other tools have rules of their own.

*Measured* is the share of the judged findings of a rule that people called right, in %[2]d commits of %[3]d
repositories, and in %[4]d whole trees, each as one change that adds all of it (-whole): an arguable one counts half,
and "-" says that the rule found nothing there, that no finding was judged, or that the measurement does not run its
gate, as those for tests. Good projects have almost no secrets and few flaws, so most of the rare findings of these
rules there are wrong. The findings and judgements are in %[1]stools/precision/judgements.tsv%[1]s;
%[1]smake precision%[1]s measures again, over any histories. A rule may report errors if 95 of 100 of its findings are
right, and warnings if 80 are, once five were judged; otherwise it reports remarks.

## Gates

*In a run* is the severity where the plan does not ask for the change, *else* that of %[1]srunplan gate%[1]s and
%[1]srunplan review%[1]s. "-" says that the rule is not looked for there.

| Rule | In a run | Else | Measured | Finds |
|---|---|---|---|---|
`, "`", commits, repositories, measured.Trees())
	for _, r := range measured.Rules() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.ID, r.InRun, r.Outside, measured.Of(r.ID), r.Finds)
	}
	b.WriteString("\n## Lessons\n\n| Rule | Severity | Measured | Finds |\n|---|---|---|---|\n")
	for _, l := range lib.Lessons {
		if l.Pattern.Type == lessons.Syntactic && l.Severity.Level() != lessons.None {
			fmt.Fprintf(&b, "| lesson/%s | %s | %s | %s |\n", l.ID, l.Severity.Level(), measured.Of("lesson/"+l.ID),
				cell(l.Title))
		}
	}
	b.WriteString(
		"\n## Patterns\n\nPatterns need ast-grep, and warn at most; `--strict-ast` makes errors of those of severity error " +
			"and of five others.\n\n" +
			"| Rule | Severity | Measured | Languages | Finds |\n|---|---|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| pattern/%s | %s | %s | %s | %s |\n", r.ID, r.Severity, measured.Of("pattern/"+r.ID),
			strings.Join(r.Languages, ", "), cell(r.Message))
	}
	return b.String(), nil
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
