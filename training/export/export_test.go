package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/export"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/plan"
)

// example returns the i-th example: every third is bad, every seventh is a preference pair, and every second has no
// license.
func example(i int) training.Example {
	words := make([]string, 20)
	for w := range words {
		words[w] = fmt.Sprintf("w%d", i*100+w)
	}
	e := training.Example{
		Stage: training.ExecuteCode, Base: training.Coding, Source: training.Synthetic, Positive: i%3 != 1,
		Prompt: []training.Message{{Role: "system", Content: "You edit <files> & say \"why\".\n"},
			{Role: "user", Content: strings.Join(words, " ") + "\n{{ x }} \u2028 ü"}},
		Completion: fmt.Sprintf("edit %d </s> <|im_end|>\n", i),
		Origin: training.Origin{Repo: "acme/shop", License: []string{"MIT", ""}[i%2], Commit: fmt.Sprint("c", i),
			At: time.Unix(int64(i), 0).UTC()},
	}
	if i%7 == 0 {
		e.Positive, e.Rejected = true, fmt.Sprintf("break %d", i)
	}
	e.ID = e.Sum()
	return e
}

// dataset creates a dataset of n examples; it includes bad answers to the prompts of some good ones.
func dataset(t testing.TB, n int, more ...training.Example) string {
	t.Helper()
	var b bytes.Buffer
	add := func(e training.Example) {
		line, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	for i := range n {
		e := example(i)
		add(e)
		if i%4 == 0 && e.Positive {
			e.Positive, e.Rejected, e.Completion = false, "", "no idea"
			e.ID = e.Sum()
			add(e)
		}
	}
	for _, e := range more {
		add(e)
	}
	in := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(in, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "set")
	p := plan.For(training.ExecuteCode)
	if _, err := curate.Build(t.Context(), []string{in}, out, curate.Options{Plan: p}); err != nil {
		t.Fatal(err)
	}
	return out
}

func options(t testing.TB, name string) export.Options {
	t.Helper()
	f, err := export.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return export.Options{Format: f, BaseModel: "acme/base: \"7B\"", Counter: chat.Estimate{}, TooLong: export.Fail}
}

func template(t testing.TB) chat.Renderer {
	t.Helper()
	j, err := chat.ParseJinja("tokenizer_config.json",
		"{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}</>\n{% endfor %}{% if "+
			"add_generation_prompt %}<assistant>{% endif %}", map[string]string{"bos_token": "<s>"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func lines(t testing.TB, path string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

// Each line of each format matches its schema, rendered or not; the configuration can be parsed and names existing
// files; and the counts include the examples that were left out.
func TestFormats(t *testing.T) {
	set := dataset(t, 120)
	for _, f := range export.Formats() {
		for _, rendered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, rendered %v", f.Name, rendered), func(t *testing.T) {
				o, schema := options(t, f.Name), f.Chat
				if rendered {
					o.Template = template(t)
					if f.Text != "" {
						schema = f.Text
					}
				}
				out := filepath.Join(t.TempDir(), "out")
				m, err := export.Write(t.Context(), set, out, o)
				if err != nil {
					t.Fatal(err)
				}
				check, err := export.SchemaOf(schema)
				if err != nil {
					t.Fatal(err)
				}
				for name, want := range map[string]int{"train.jsonl": m.Train.Examples, f.Held: m.Validation.Examples} {
					all := lines(t, filepath.Join(out, name))
					if len(all) != want || want == 0 {
						t.Errorf("%s has %d lines, and tells of %d", name, len(all), want)
					}
					for _, line := range all {
						if err := check.Check(line); err != nil {
							t.Errorf("%s: %v\n%s", name, err, line)
						}
						if rendered && f.Text != "" && !bytes.Contains(line, []byte(`<s><system>`)) {
							t.Errorf("not rendered: %s", line)
						}
					}
				}
				sum := m.Train.Examples + m.Validation.Examples
				for _, n := range m.LeftOut {
					sum += n
				}
				if f.Teaches != export.Verdicts && sum != 120+len(extra(120)) {
					t.Errorf("%d of %d are reported", sum, 120+len(extra(120)))
				}
				settings(t, out, f, m)
			})
		}
	}
}

// extra returns the indexes of the examples to which dataset adds a bad answer.
func extra(n int) []int {
	var out []int
	for i := range n {
		if i%4 == 0 && example(i).Positive {
			out = append(out, i)
		}
	}
	return out
}

// settings checks the files beside the data.
func settings(t *testing.T, out string, f export.Format, m export.Manifest) {
	t.Helper()
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		text, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(e.Name()) {
		case ".yaml":
			var v map[string]any
			if err := yaml.Unmarshal(text, &v); err != nil {
				t.Errorf("%s: %v\n%s", e.Name(), err, text)
			}
			base := first(v, "model_name_or_path", "base_model", "model")
			rank := first(v, "lora_r", "lora_rank")
			if p, ok := v["lora_parameters"].(map[string]any); ok {
				rank = p["rank"]
			}
			if base != m.BaseModel || fmt.Sprint(rank) != "32" {
				t.Errorf("%s: base %v, rank %v", e.Name(), base, rank)
			}
			length := first(v, "max_length", "sequence_len", "cutoff_len", "max_seq_length")
			rate, isFloat := v["learning_rate"].(float64)
			if fmt.Sprint(length) != "16384" || !isFloat || rate != 1e-4 {
				t.Errorf("%s: length %v, rate %v", e.Name(), length, v["learning_rate"])
			}
		case ".json":
			if !json.Valid(text) {
				t.Errorf("%s is no JSON: %s", e.Name(), text)
			}
		case ".md":
			front, _, ok := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
			var card struct {
				License []string
				Configs []struct {
					DataFiles []struct{ Split, Path string } `yaml:"data_files"`
				}
			}
			if err := yaml.Unmarshal([]byte(front), &card); err != nil || !ok {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(card.Configs) != 1 || card.Configs[0].DataFiles[1].Path != f.Held {
				t.Errorf("%+v", card)
			}
			if f.Teaches == export.Answers && !slices.Equal(card.License, []string{"mit", "unknown"}) {
				t.Errorf("licenses %v", card.License)
			}
		}
	}
	if config := strings.Fields(f.Run)[len(strings.Fields(f.Run))-1]; !slices.Contains(names, config) {
		t.Errorf("%q wants %s, and there are %v", f.Run, config, names)
	}
}

func first(v map[string]any, keys ...string) any {
	for _, k := range keys {
		if v[k] != nil {
			return v[k]
		}
	}
	return nil
}

// Only good answers are exported as answers to learn; a bad answer is paired with a good one to the same prompt.
func TestExportLearnsOnlyGoodAnswers(t *testing.T) {
	set := dataset(t, 120)
	taken := func(name string) []string {
		out := filepath.Join(t.TempDir(), "out")
		if _, err := export.Write(t.Context(), set, out, options(t, name)); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, l := range lines(t, filepath.Join(out, "train.jsonl")) {
			all = append(all, string(l))
		}
		return all
	}
	for _, l := range taken("trl-chat") {
		if strings.Contains(l, "no idea") || strings.Contains(l, "edit 1 ") {
			t.Errorf("a bad answer is in the training data: %s", l)
		}
		if !strings.Contains(l, "<files> &") || !strings.Contains(l, `\u2028`) {
			t.Errorf("not as it was: %s", l)
		}
	}
	found := map[string]bool{}
	for _, l := range taken("trl-preference") {
		found["own"] = found["own"] || strings.Contains(l, `"rejected":[{"role":"assistant","content":"break 7"}]`)
		found["joined"] = found["joined"] || strings.Contains(l, `"content":"edit 8 `) &&
			strings.Contains(l, `"rejected":[{"role":"assistant","content":"no idea"}]`)
	}
	if !found["own"] || !found["joined"] {
		t.Errorf("%v", found)
	}
	found = map[string]bool{}
	for _, l := range taken("trl-unpaired") {
		for what, of := range map[string][2]string{"good": {"edit 8 ", "true"}, "bad": {"edit 4 ", "false"},
			"chosen": {"edit 7 ", "true"}, "rejected": {"break 7", "false"}} {
			found[what] = found[what] || strings.Contains(l, of[0]) && strings.HasSuffix(l, `"label":`+of[1]+"}")
		}
	}
	if got := slices.Sorted(maps.Keys(found)); len(got) != 4 || !found["good"] || !found["bad"] || !found["chosen"] ||
		!found["rejected"] {
		t.Errorf("%v", found)
	}
}

// An example that is too long is named. The policy decides whether it fails the export, is left out, or is kept; no
// example is truncated.
func TestLongExamplePolicy(t *testing.T) {
	long := example(5000)
	long.Completion = strings.Repeat("x", 80_000)
	long.ID = long.Sum()
	set := dataset(t, 60, long)
	for policy, want := range map[export.Policy]int{export.Fail: -1, export.Drop: 0, export.Keep: 1} {
		o := options(t, "mlx")
		o.TooLong = policy
		out := filepath.Join(t.TempDir(), "out")
		m, err := export.Write(t.Context(), set, out, o)
		var tooLong *export.LongError
		if want < 0 {
			if !errors.As(err, &tooLong) || !strings.Contains(err.Error(), long.ID) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
			continue
		}
		if err != nil || len(m.TooLong) != 1 || m.TooLong[0].ID != long.ID || m.TooLong[0].Tokens < 10_000 ||
			m.LeftOut[curate.TooLong] != 1-want {
			t.Fatalf("%s: %v, %+v", policy, err, m)
		}
		n := 0
		for _, name := range []string{"train.jsonl", "valid.jsonl"} {
			for _, l := range lines(t, filepath.Join(out, name)) {
				n += strings.Count(string(l), strings.Repeat("x", 80_000))
			}
		}
		if n != want {
			t.Errorf("%s: the long text is there %d times", policy, n)
		}
	}
	// The limit is exact: an example with as many tokens as the limit fits, and one with one token more does not.
	o := options(t, "mlx")
	o.TooLong = export.Drop
	m, err := export.Write(t.Context(), set, filepath.Join(t.TempDir(), "out"), o)
	if err != nil {
		t.Fatal(err)
	}
	for limit, fits := range map[int]bool{m.Longest: true, m.Longest - 1: false} {
		o.Limit = limit
		again, err := export.Write(t.Context(), set, filepath.Join(t.TempDir(), "out"), o)
		if err != nil && !errors.Is(err, export.ErrEmpty) || (len(again.TooLong) == 1) != fits {
			t.Errorf("limit %d: %v, %d are too long", limit, err, len(again.TooLong))
		}
	}
}

// Write refuses a dataset that is missing, changed, not licensed or leaking, and a folder with other files; it leaves
// nothing behind.
func TestWriteRefusesInvalidDataset(t *testing.T) {
	set := dataset(t, 60)
	changed := dataset(t, 60)
	if err := os.WriteFile(filepath.Join(changed, "train.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	broken, err := chat.FromText("x.gotmpl", "{{ range .Messages }}{{ .Role }}{{ end }}", "</s>")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in     string
		change func(*export.Options)
		is     error
		want   string
	}{
		"no dataset": {in: t.TempDir(), is: os.ErrNotExist},
		"changed":    {in: changed, is: curate.ErrChanged},
		"a license": {in: set, change: func(o *export.Options) { o.Licenses = []string{"Apache-2.0"} }, is: export.ErrEmpty,
			want: "license not in the plan"},
		"a leak": {in: set, change: func(o *export.Options) {
			o.Canary = training.NewCanary([]training.Secret{{Name: "T", Value: "w302 w303"}})
		}, want: "holds T"},
		"a bad template": {in: set, change: func(o *export.Options) { o.Template, o.Format.Text = broken, "text" },
			is: chat.ErrTemplate, want: "example "},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "trl-chat")
			if c.change != nil {
				c.change(&o)
			}
			dir := t.TempDir()
			_, err := export.Write(t.Context(), c.in, filepath.Join(dir, "out"), o)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := options(t, "trl-chat")
	o.Replace = true
	if _, err := export.Write(t.Context(), set, dir, o); !errors.Is(err, folder.ErrExists) {
		t.Errorf("%v", err)
	}
}

// The same dataset always exports to the same bytes.
func TestExportIsReproducible(t *testing.T) {
	set := dataset(t, 80)
	var sums []map[string]string
	for range 2 {
		m, err := export.Write(context.Background(), set, filepath.Join(t.TempDir(), "out"), options(t, "axolotl"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, m.Files)
	}
	if !maps.Equal(sums[0], sums[1]) || len(sums[0]) < 5 {
		t.Errorf("%v", sums)
	}
}

// Each schema rejects lines of another form, unknown keys and empty answers.
func TestSchemas(t *testing.T) {
	good := map[string]string{
		"messages":                 `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`,
		"conversations":            `{"conversations":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`,
		"prompt-completion-chat":   `{"prompt":[{"role":"user","content":"a"}],"completion":[{"role":"assistant","content":"b"}]}`,
		"prompt-completion-text":   `{"prompt":"a","completion":"b"}`,
		"preference-chat":          `{"prompt":[{"role":"user","content":"a"}],"chosen":[{"role":"assistant","content":"b"}],"rejected":[{"role":"assistant","content":"c"}]}`,
		"preference-text":          `{"prompt":"a","chosen":"b","rejected":"c"}`,
		"unpaired-chat":            `{"prompt":[{"role":"user","content":"a"}],"completion":[{"role":"assistant","content":"b"}],"label":true}`,
		"unpaired-text":            `{"prompt":"a","completion":"b","label":false}`,
		"segments":                 `{"segments":[{"label":false,"text":"a"},{"label":true,"text":"b"}]}`,
		"text":                     `{"text":"ab"}`,
		"axolotl-preference":       `{"messages":[{"role":"user","content":"a"}],"chosen":{"role":"assistant","content":"b"},"rejected":{"role":"assistant","content":"c"}}`,
		"llama-factory-preference": `{"conversations":[{"from":"human","value":"a"}],"chosen":{"from":"gpt","value":"b"},"rejected":{"from":"gpt","value":"c"}}`,
	}
	files, err := filepath.Glob("schemas/*.json")
	if err != nil || len(files) != len(good) {
		t.Fatalf("schemas are %v (%v)", files, err)
	}
	for name := range good {
		s, err := export.SchemaOf(name)
		if err != nil {
			t.Fatal(err)
		}
		for of, line := range good {
			if err := s.Check([]byte(line)); (err == nil) != (of == name) {
				t.Errorf("%s about a line of %s: %v", name, of, err)
			}
		}
		for _, bad := range []string{
			strings.Replace(good[name], "{", `{"x":1,`, 1), strings.ReplaceAll(good[name], `"b"`, `""`),
			strings.ReplaceAll(good[name], `"assistant"`, `"bot"`),
			strings.Replace(good[name], `"a"`, "1", 1), strings.ReplaceAll(good[name], `"ab"`, `""`), "{", "[]",
		} {
			if bad != good[name] && s.Check([]byte(bad)) == nil &&
				!(strings.HasPrefix(name, "messages") || strings.HasPrefix(name, "conversations")) {
				t.Errorf("%s takes %s", name, bad)
			}
		}
	}
}
