package patterns

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const nameRule = "id: name\nlanguage: python\nrule: {kind: function_definition, has: {kind: identifier, pattern: " +
	"$NAME}}\nlabels: {}\nfix: {template: '', expandEnd: {kind: block, stopBy: end}}\n"

func TestNodes(t *testing.T) {
	p := program(t)
	dir := t.TempDir()
	texts := []Text{
		{Path: "a.py", Text: []byte("def a(): pass\n")},
		{Path: "-b.py", Text: []byte("# ast-grep-ignore\n\ndef b(): pass\n")}, // the comment would hide all of it
		{Path: "c.py", Text: []byte("# nothing to find\n")},
		{Path: "d.py", Text: []byte("def dé(): pass\n"), Copy: true}, // not what stands on disk
		{Path: "f.sql", Text: []byte("select 1\n")},
	}
	for _, x := range texts {
		write(t, dir, x.Path, string(x.Text))
	}
	write(t, dir, "d.py", "def d\xe9(): pass\n")
	write(t, dir, "sgconfig.yml", "ruleDirs: [nope]\nlanguageGlobs: {javascript: ['*.py']}\n")
	nodes, skipped, err := p.Nodes(t.Context(), dir, texts, nameRule, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{0: "a", 1: "b", 3: "dé"} {
		n := nodes[texts[i].Path]
		if len(n) != 1 {
			t.Fatalf("%s: %+v", texts[i].Path, n)
		}
		if v, ok := n[0].Var("NAME"); !ok || string(texts[i].Text[v.Start:v.End]) != want {
			t.Errorf("%s: %+v", texts[i].Path, n)
		}
		if text := string(texts[i].Text[n[0].From:n[0].To]); !strings.HasPrefix(text, "def ") {
			t.Errorf("%s: extent %q", texts[i].Path, text)
		}
	}
	// c.py was checked and has no matches; f.sql is reported as skipped.
	if len(skipped) != 1 || skipped[0].Path != "f.sql" {
		t.Errorf("skipped %+v", skipped)
	}
	if _, _, err := p.Nodes(t.Context(), dir, []Text{{Path: "gone.py", Text: []byte("x\n")}}, nameRule, 1); err == nil {
		t.Error("a deleted file is not an error")
	}
	if _, _, err := p.Nodes(t.Context(), dir, texts, "id: x\nlanguage: python\nrule: {kind: nope}\n", 1); !errors.Is(err,
		ErrRule) {
		t.Errorf("an invalid rule: %v", err)
	}
	if _, _, err := (Program{}).Nodes(t.Context(), dir, texts, nameRule, 1); !errors.Is(err, ErrMissing) {
		t.Errorf("no program: %v", err)
	}
}

// Invalid output of ast-grep is an error and never an empty outline.
func TestNodesRejectsInvalidOutput(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", "x\n")
	for name, tc := range map[string]struct{ script, want string }{
		"crash":         {"kill -SEGV $$", "crashed"},
		"status":        {"exit 3", "status 3"},
		"half a record": {`printf '{"file":"a.py","ruleId'`, "line 1"},
		"another file": {`echo '{"file":"b.py","ruleId":"x","range":{"byteOffset":{"start":0,"end":1}}}'`,
			"not in the request"},
		"out of it": {`echo '{"file":"a.py","ruleId":"x","range":{"byteOffset":{"start":0,"end":99}}}'`,
			"was changed while"},
		"silence": {"exit 0", "did not report which files"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := fake(t, tc.script).Nodes(t.Context(), dir, []Text{{Path: "a.py", Text: []byte("x\n")}}, nameRule, 0)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// The fast decoder and a complete JSON parser read the same file and rule from a line.
func FuzzDecodeNode(f *testing.F) {
	f.Add(`{"text":"a\"\\","range":{"byteOffset":{"start":1,"end":2},"start":{"line":0,"column":1}},"file":"a.py","lines":"{[\"]}","ruleId":"x","labels":[{"a":[1,-2.5e3,null,true]}]}`)
	f.Add(`{"metaVariables":{"single":{"N":{"text":"x","range":{"byteOffset":{"start":3,"end":4}}}},"multi":{},"transformed":null},"replacementOffsets":{"start":1,"end":9},"file":"b","ruleId":"y","range":{"byteOffset":{"start":0,"end":1}}}`)
	f.Add(`{"file":"a"`)
	f.Add(`[[[[[[`)
	f.Fuzz(func(t *testing.T, line string) {
		file, n, err := decodeNode([]byte(line), nil)
		if err != nil {
			return
		}
		if file == "" || n.Rule == "" || n.Start < 0 ||
			slices.ContainsFunc(n.Vars, func(v Var) bool { return v.Start > 1<<31 }) {
			t.Errorf("%q: %+v", line, n)
		}
		if r, err := parseRecord([]byte(strings.TrimSpace(line))); err == nil && (r.File != file || r.Rule != n.Rule) &&
			!strings.Contains(line, `\`) && strings.Count(line, `"file"`) == 1 && strings.Count(line, `"ruleId"`) == 1 {
			t.Errorf("%q: %q %q, want %q %q", line, file, n.Rule, r.File, r.Rule)
		}
	})
}

// The output is read in pieces of any size, and at most one line of it is buffered.
func TestNodesReadsOutputInPieces(t *testing.T) {
	line := func(file string, start int) string {
		return fmt.Sprintf(`{"text":"x","range":{"byteOffset":{"start":%d,"end":%d}},"file":%q,"ruleId":"r"}`, start, start+1,
			file)
	}
	whole := strings.Join([]string{line("./a.py", 0), line("./b.py", 1), "", line("./a.py", 2)}, "\n")
	for _, size := range []int{1, 10, 100, len(whole)} {
		a := newAnswer(&outliner{texts: map[string]Text{
			"./a.py": {Path: "a.py", Text: []byte("abc")}, "./b.py": {Path: "b.py", Text: []byte("abc")},
		}}, map[string][]Node{}, nil)
		for rest := []byte(whole); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := a.Write(slices.Clone(rest[:min(size, len(rest))])); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.close(); err != nil {
			t.Fatal(err)
		}
		if n := a.nodes["a.py"]; len(n) != 2 || n[0].Start != 0 || n[1].Start != 2 || len(a.nodes["b.py"]) != 1 {
			t.Errorf("in pieces of %d: %+v", size, a.nodes)
		}
	}
}

// Output that exceeds the limit is an error; the call does not wait for its end.
func TestNodesLimitsOutput(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", "x\n")
	if _, _, err := fake(t, "exec yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx").Nodes(t.Context(), dir,
		[]Text{{Path: "a.py", Text: []byte("x\n")}}, nameRule, 0); !errors.Is(err, ErrTooMuch) {
		t.Errorf("error %v", err)
	}
}
