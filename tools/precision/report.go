package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// An arguable finding is one that a reviewer might raise and an author might reject; it counts half.
const (
	isTrue     = "true"
	isArguable = "arguable"
	isFalse    = "false"
)

// key names a finding in the file of judgements.
type key struct{ history, commit, rule, place string }

// readJudgements reads lines of history, commit, rule, place, verdict and reason, separated by tabs. A place "*" is all
// places of the rule in the commit.
func readJudgements(file string) (map[key]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[key]string{}
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		c := strings.Split(s.Text(), "\t")
		if len(c) != 6 || !slices.Contains([]string{isTrue, isArguable, isFalse}, c[4]) || c[5] == "" {
			return nil, fmt.Errorf("%s:%d: a line must have history, commit, rule, place, true|arguable|false and the reason", file, n)
		}
		out[key{c[0], c[1], c[2], c[3]}] = c[4]
	}
	return out, s.Err()
}

func judge(verdicts map[key]string, l look, f finding) string {
	for _, place := range []string{f.place(), "*"} {
		if v := verdicts[key{l.history, l.commit, f.Rule, place}]; v != "" {
			return v
		}
	}
	return ""
}

// tally counts the findings of a rule by verdict.
type tally struct{ good, arguable, bad, open, errors, warnings, notes, added int }

func (t *tally) add(verdict, severity string, added bool) {
	if added {
		t.added++
	}
	switch verdict {
	case isTrue:
		t.good++
	case isArguable:
		t.arguable++
	case isFalse:
		t.bad++
	default:
		t.open++
	}
	switch severity {
	case "error":
		t.errors++
	case "warning":
		t.warnings++
	default:
		t.notes++
	}
}

// percent returns the measured precision, or "-" where nothing was judged.
func (t tally) percent() string {
	n := t.good + t.arguable + t.bad
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*(float64(t.good)+float64(t.arguable)/2)/float64(n))
}

// report prints the tables and returns the exit code.
func report(w io.Writer, o options, looks []look, verdicts map[key]string) (int, error) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	type row struct{ commits, blocked, errors, warnings, notes, known int }
	rows, sum := map[string]*row{}, &row{}
	type pair struct{ rule, history string }
	pairs, rules := map[pair]*tally{}, map[string]*tally{}
	for _, l := range looks {
		r := rows[l.history]
		if r == nil {
			r = &row{}
			rows[l.history] = r
		}
		for _, r := range []*row{r, sum} {
			r.commits++
			if l.blocked {
				r.blocked++
			}
		}
		for _, f := range l.findings {
			if f.Known {
				r.known++
				sum.known++
				continue
			}
			for _, r := range []*row{r, sum} {
				switch f.Severity {
				case "error":
					r.errors++
				case "warning":
					r.warnings++
				default:
					r.notes++
				}
			}
			verdict := judge(verdicts, l, f)
			p := pair{f.Rule, l.history}
			if pairs[p] == nil {
				pairs[p] = &tally{}
			}
			if rules[f.Rule] == nil {
				rules[f.Rule] = &tally{}
			}
			pairs[p].add(verdict, f.Severity, f.Added)
			rules[f.Rule].add(verdict, f.Severity, f.Added)
			if o.verbose && f.Severity != "info" || o.commit != "" {
				fmt.Fprintf(w, "%s %s %s %s %s: %s (%s)\n", l.history, l.commit, f.Severity, f.Rule, f.place(), f.Message,
					cmp.Or(verdict, "not judged"))
			}
			if o.open && verdict == "" && f.Severity != "info" {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\t%s: %s\n", l.history, l.commit, f.Rule, f.place(), f.Severity, f.Message)
			}
		}
	}
	fmt.Fprintln(t, "repository\tcommits\tblocked\terrors\twarnings\ta commit\tremarks\tknown\t")
	line := func(name string, r *row) {
		n := max(1, r.commits)
		fmt.Fprintf(t, "%s\t%d\t%d (%.1f %%)\t%d\t%d\t%.2f\t%d\t%d\t\n", name, r.commits, r.blocked,
			100*float64(r.blocked)/float64(n), r.errors, r.warnings,
			float64(r.warnings)/float64(n), r.notes, r.known)
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		line(name, rows[name])
	}
	line("all", sum)
	fmt.Fprintln(t, "\t\t\t\t\t\t\t\t")
	t.Flush()

	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t,
		"rule\trepository\terrors\twarnings\tremarks\ton added lines\ttrue\targuable\tfalse\tnot judged\tprecision\t")
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		show := func(where string, c *tally) {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", rule, where, c.errors, c.warnings, c.notes, c.added,
				c.good, c.arguable, c.bad, c.open, c.percent())
		}
		for _, h := range slices.Sorted(maps.Keys(rows)) {
			if c := pairs[pair{rule, h}]; c != nil {
				show(h, c)
			}
		}
		show("all", rules[rule])
	}
	t.Flush()
	if o.record != "" {
		if err := record(o, sum.commits, len(rows), rules); err != nil {
			return 0, err
		}
	}
	blocked, warnings := 100*float64(sum.blocked)/float64(max(1, sum.commits)),
		float64(sum.warnings)/float64(max(1, sum.commits))
	fmt.Fprintf(w,
		"\n%d commits of %d repositories: %.1f %% blocked (at most %.1f), %.2f warnings a commit (at most %.2f)\n",
		sum.commits, len(rows), blocked, o.blocked, warnings, o.warnings)
	if o.commit == "" && !o.whole && (blocked > o.blocked || warnings > o.warnings) {
		return 1, nil
	}
	return 0, nil
}

// record writes the measured precision of each rule, for the lists of rules. Results of whole trees, and with -add those
// of other repositories, are added to the existing ones.
func record(o options, commits, histories int, rules map[string]*tally) error {
	counts := map[string][3]int{}
	trees := 0
	if o.whole {
		trees, commits, histories = commits, 0, 0
	}
	if o.whole || o.add {
		old, err := os.ReadFile(o.record)
		if err != nil {
			return fmt.Errorf("read the results of commits, which must come first: %w", err)
		}
		for line := range strings.Lines(string(old)) {
			var rule string
			var n [3]int
			if _, err := fmt.Sscanf(line, "# commits\t%d\t%d", &n[0], &n[1]); err == nil {
				commits, histories = commits+n[0], histories+n[1]
				continue
			}
			if _, err := fmt.Sscanf(line, "# trees\t%d", &n[0]); err == nil {
				if o.add {
					trees += n[0]
				}
				continue
			}
			if _, err := fmt.Sscanf(line, "%s\t%d\t%d\t%d", &rule, &n[0], &n[1], &n[2]); err == nil && rule != "#" {
				counts[rule] = n
			}
		}
	}
	for rule, c := range rules {
		n := counts[rule]
		counts[rule] = [3]int{n[0] + c.good, n[1] + c.arguable, n[2] + c.bad}
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		"# Written by make precision with -record: rule, findings judged true, arguable, false.\n# commits\t%d\t%d\n# "+
			"trees\t%d\n", commits, histories, trees)
	for _, rule := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[rule]; n != [3]int{} {
			fmt.Fprintf(&b, "%s\t%d\t%d\t%d\n", rule, n[0], n[1], n[2])
		}
	}
	return os.WriteFile(o.record, []byte(b.String()), 0o644)
}
