package export

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/training/curate"
)

// card returns README.md. It describes the data for people and, in its front matter, for Hugging Face.
func (j *job) card() string {
	m := j.m
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("---")
	p("license:")
	for _, l := range hubLicenses(m.Licenses) {
		p("- %s", l)
	}
	p("task_categories:\n- text-generation")
	p("tags:\n- code\n- runplan\n- %s", strings.ReplaceAll(string(m.Plan.Stage), "_", "-"))
	p("size_categories:\n- %s", sizeCategory(m.Train.Examples+m.Validation.Examples))
	p(
		"configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: %s\n  - split: validation\n    path: %s", trainFile, j.format.Held)
	p("---\n")
	p("# %s, stage %s\n", j.format.What, m.Plan.Stage)
	p("Data to train %s on stage `%s` (a %s model), chosen by the plan in `%s`.\n", code(m.BaseModel), m.Plan.Stage,
		m.Plan.Base, ManifestFile)
	p("    %s\n", j.format.Run)
	p("## What is in it\n")
	p(
		"| | examples | good | bad | preferences | from runs | from history | forward | retroactive " +
			"|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, s := range []struct {
		name string
		of   curate.Side
	}{{trainFile, m.Train}, {j.format.Held, m.Validation}} {
		p("| `%s` | %d | %d | %d | %d | %d | %d | %d | %d |", s.name, s.of.Examples, s.of.Positive, s.of.Negative,
			s.of.Preferences, s.of.Logged, s.of.Synthetic, s.of.Forward, s.of.Retroactive)
	}
	p("\nEach line meets the JSON schema `%s`. %s\n", m.Schema, rendered(m.Template, j.format))
	p("## Where it is from\n")
	p("| repository | lines |\n|---|--:|")
	for _, repo := range slices.Sorted(maps.Keys(m.Repos)) {
		p("| %s | %d |", cell(repo), m.Repos[repo])
	}
	p("\n| license | lines |\n|---|--:|")
	for _, l := range slices.Sorted(maps.Keys(m.Licenses)) {
		name := cell(l)
		if l == "" {
			name = "not known"
		}
		p("| %s | %d |", name, m.Licenses[l])
	}
	if n := m.Licenses[""]; n > 0 {
		p("\nThe license of the repository is unknown for %d line(s). Find it before you distribute this data.", n)
	}
	p("\n## Split\n")
	d := m.Plan.Data
	p(
		"The newest part of each repository is held out for validation. Train and validation share no commit, no task, no " +
			"version of a file, no prompt, and no two")
	p("examples that have %g or more of their groups of %d words in common. That was checked on the finished files.\n",
		d.NearDuplicate, d.Shingle)
	p("## Limits\n")
	p("- The longest line has %d tokens, the model is trained on %d (%s).", m.Longest, m.Limit, m.Counter)
	if m.Template == "none" {
		p("- Tokens that the model's template adds to each turn are not counted.")
	}
	if n := len(m.TooLong); n > 0 {
		what := "were omitted"
		if j.TooLong == Keep {
			what = "are included, and the trainer may cut them"
		}
		p("- %d example(s) were longer and %s; `%s` names them.", n, what, ManifestFile)
	}
	p(
		"- Examples from history were made from commits: these are not proven to be the best changes, or that a model was " +
			"asked so.")
	p("- Examples from runs are proven by receipts; their quality was judged by gates and git.")
	p("- Secrets were removed by their form and by their names. Check the data yourself before you distribute it.")
	if len(m.LeftOut) > 0 {
		p("\n## Omitted examples\n")
		p("| reason | examples |\n|---|--:|")
		for _, r := range Reasons() {
			if n := m.LeftOut[r]; n > 0 {
				p("| %s | %d |", r, n)
			}
		}
	}
	return b.String()
}

func rendered(template string, f Format) string {
	switch {
	case template == "none":
		return "The trainer renders the messages with the template of the model."
	case f.Text == "":
		return "The trainer renders the messages with the template of the model; lengths were counted with that of " +
			code(template) + "."
	}
	return "The text was rendered with the template of " + code(template) +
		", special tokens included: a tokenizer must not add them once more."
}

func code(s string) string { return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(s) + "`" }

// cell makes foreign text safe for a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", "[", "\\[").Replace(s)
}

func sizeCategory(n int) string {
	switch {
	case n < 1_000:
		return "n<1K"
	case n < 10_000:
		return "1K<n<10K"
	case n < 100_000:
		return "10K<n<100K"
	case n < 1_000_000:
		return "100K<n<1M"
	}
	return "n>1M"
}

// hubLicenses returns the licenses under their Hugging Face names. A license without such a name becomes "other".
func hubLicenses(all map[string]int) []string {
	known := []string{
		"afl-3.0", "agpl-3.0", "apache-2.0", "artistic-2.0", "bsd-2-clause", "bsd-3-clause", "bsd-3-clause-clear", "bsl-1.0",
		"cc-by-3.0", "cc-by-4.0",
		"cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "ecl-2.0", "epl-1.0", "epl-2.0", "eupl-1.1", "gpl-2.0", "gpl-3.0", "isc",
		"lgpl-2.1", "lgpl-3.0", "lppl-1.3c",
		"mit", "mpl-2.0", "ms-pl", "ncsa", "ofl-1.1", "osl-3.0", "postgresql", "unlicense", "wtfpl", "zlib",
	}
	set := map[string]bool{}
	for l := range all {
		if l == "" {
			set["unknown"] = true
			continue
		}
		for _, id := range strings.Split(l, " AND ") {
			id = strings.ToLower(id)
			id = strings.TrimSuffix(strings.TrimSuffix(id, "-only"), "-or-later")
			if !slices.Contains(known, id) {
				id = "other"
			}
			set[id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Used lists the licenses of a dataset for messages.
func Used(m Manifest) string {
	var out []string
	for _, l := range slices.Sorted(maps.Keys(m.Licenses)) {
		l = cmp.Or(l, "unknown")
		out = append(out, l)
	}
	return strings.Join(out, ", ")
}
