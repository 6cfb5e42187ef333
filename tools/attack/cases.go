package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// attackCase is one agent in one repository.
type attackCase struct {
	name     string // such as cheat/code/go_test_deleted, with #2 for the variant in the second batch
	file     string // below testdata/cases
	about    string // what the agent does and why it is a cheat or honest
	honest   bool
	class    string
	language string
	mode     string // headless or team
	attempts string // at a batch
	second   bool   // the first batch is honest, the agent acts in the second
	anyExit  bool   // the oracle decides, whatever the exit code is
	check    bool   // the case can be tried without runplan, see -check
	needs    []string
	env      []string // more variables for the run, NAME=VALUE
	timeout  time.Duration
	files    map[string]string // of the case, in addition to those of its template
}

// load reads all cases and their templates.
func load(data string) ([]*attackCase, error) {
	var out []*attackCase
	root := filepath.Join(data, "cases")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txtar" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		cases, err := read(data, filepath.ToSlash(rel))
		if err != nil {
			return fmt.Errorf("case %s: %w", path, err)
		}
		out = append(out, cases...)
		return nil
	})
	return out, err
}

// read reads the file of a case, which may describe one in the first batch and one in the second.
func read(data, rel string) ([]*attackCase, error) {
	archive, err := txtar.ParseFile(filepath.Join(data, "cases", filepath.FromSlash(rel)))
	if err != nil {
		return nil, err
	}
	keys, about, err := header(archive.Comment)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimSuffix(rel, ".txtar"), "/")
	if len(parts) != 3 || parts[0] != "cheat" && parts[0] != "honest" {
		return nil, fmt.Errorf("it is not in cheat/CLASS or honest/CLASS")
	}
	if about == "" {
		return nil, fmt.Errorf("no comment describes the agent")
	}
	c := attackCase{
		name: strings.TrimSuffix(rel, ".txtar"), file: rel, about: about, honest: parts[0] == "honest", class: parts[1],
		language: keys["language"], mode: "headless", attempts: "1", check: parts[1] == "code" ||
			parts[0] == "honest", files: map[string]string{},
	}
	variants := []string{"first"}
	for key, value := range keys {
		switch key {
		case "language", "template":
		case "mode":
			c.mode = value
		case "attempts":
			c.attempts = value
		case "exit":
			c.anyExit = value == "any"
		case "check":
			c.check = value == "yes"
		case "needs":
			c.needs = append(c.needs, strings.Fields(value)...)
		case "env":
			c.env = strings.Fields(value)
		case "timeout":
			if c.timeout, err = time.ParseDuration(value); err != nil {
				return nil, fmt.Errorf("timeout: %w", err)
			}
		case "batches":
			variants = strings.Fields(value)
		default:
			return nil, fmt.Errorf("unknown key %q", key)
		}
	}
	if t := keys["template"]; t != "" {
		needs, err := c.add(filepath.Join(data, "templates", t+".txtar"))
		if err != nil {
			return nil, err
		}
		c.needs = append(c.needs, needs...)
	}
	for _, f := range archive.Files {
		c.files[f.Name] = string(f.Data)
	}
	return c.variants(variants)
}

// variants returns one case for each batch in which the agent acts.
func (c *attackCase) variants(batches []string) ([]*attackCase, error) {
	var out []*attackCase
	for _, batch := range batches {
		v := *c
		v.files = map[string]string{}
		for name, text := range c.files {
			v.files[name] = text
		}
		switch batch {
		case "first":
		case "second":
			if v.second = true; len(batches) > 1 {
				v.name += "#2"
			}
			if c.files["plan.md"] != c.files["plan-two.md"] {
				v.files["plan.md"] = c.files["plan-two.md"]
			}
			if v.files["agent-1.sh"] == "" {
				v.files["agent-1.sh"] = c.files["fix.sh"]
			}
			text := c.files["agent.sh"]
			if !c.honest {
				text = c.files["break.sh"] + "\n" + text
			}
			v.files["agent-2.sh"] = text
		default:
			return nil, fmt.Errorf("batches: %q is not first or second", batch)
		}
		for _, name := range []string{"plan.md", "oracle.sh"} {
			if v.files[name] == "" {
				return nil, fmt.Errorf("no %s", name)
			}
		}
		out = append(out, &v)
	}
	return out, nil
}

// add adds the files of a template and returns the tools that it needs.
func (c *attackCase) add(file string) (needs []string, err error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	keys, _, err := header(archive.Comment)
	if err != nil {
		return nil, err
	}
	for _, f := range archive.Files {
		c.files[f.Name] = string(f.Data)
	}
	if c.language == "" {
		c.language = keys["language"]
	}
	return strings.Fields(keys["needs"]), nil
}

// header reads the comment of an archive: lines that begin with # are prose, the others are "key: value".
func header(comment []byte) (keys map[string]string, about string, err error) {
	keys = map[string]string{}
	var prose []string
	for line := range strings.Lines(string(comment)) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "#"); ok {
			prose = append(prose, strings.TrimSpace(text))
			continue
		}
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, "", fmt.Errorf("the header line %q is not \"key: value\"", line)
		}
		keys[key] = strings.TrimSpace(value)
	}
	return keys, strings.Join(prose, " "), nil
}

// readNames reads a list of names, one a line, each with a reason after it. A line that begins with # is a comment.
func readNames(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, _ := strings.Cut(line, " ")
		out[name] = strings.TrimSpace(why)
	}
	return out, lines.Err()
}

// batches returns the numbers of the plan's batches.
func (c *attackCase) batches() []string {
	var out []string
	for line := range strings.Lines(c.files["plan.md"]) {
		if rest, ok := strings.CutPrefix(line, "## Batch "); ok {
			number, _, _ := strings.Cut(rest, ":")
			out = append(out, strings.TrimSpace(number))
		}
	}
	return slices.Compact(out)
}
