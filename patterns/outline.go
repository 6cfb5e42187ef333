package patterns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// Text is a file to search, with the text that the caller read.
type Text struct {
	Path string // slashes, relative to the folder
	Text []byte
	Copy bool // Text differs from the file on disk: it was converted to UTF-8
}

// Node is a match of one rule in a file, as byte offsets into its text.
type Node struct {
	Rule       string
	Start, End int
	From, To   int // the range that the rule's fix replaces: the extent of a definition. -1: the rule has none
	Vars       []Var
}

// Var is a captured node.
type Var struct {
	Name       string
	Start, End int
}

// Var returns the captured node of that name.
func (n Node) Var(name string) (v Var, ok bool) {
	for _, v := range n.Vars {
		if v.Name == name {
			return v, true
		}
	}
	return Var{}, false
}

// ErrTooMuch reports that an answer is too long for memory.
var ErrTooMuch = errors.New("ast-grep's answer is too long")

// Nodes applies rules to texts of dir in one process and returns the matches by path, in no order. It is for indexing:
// rules match small nodes, and the caller takes text from the file, not from the answer. A text without nodes is
// checked again; it is in skipped if ast-grep did not read it. With threads > 0 ast-grep uses at most that many.
// [ErrTooMuch] asks for fewer texts.
func (p Program) Nodes(ctx context.Context, dir string, texts []Text, rules string,
	threads int) (nodes map[string][]Node, skipped []Skip, err error) {
	if !p.Found() {
		return nil, nil, ErrMissing
	}
	if len(texts) == 0 {
		return nil, nil, nil
	}
	own, err := os.MkdirTemp("", "runplan-outline-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for ast-grep: %w", err)
	}
	defer os.RemoveAll(own)
	o := outliner{Program: p, dir: dir, own: own, texts: make(map[string]Text, len(texts)), threads: threads}
	// A configuration of our own: one in the repository could blind the program.
	if err := errors.Join(
		os.WriteFile(filepath.Join(own, "sgconfig.yml"), []byte(`{"ruleDirs": []}`), 0o600),
		os.WriteFile(filepath.Join(own, "rules.yml"), []byte(rules), 0o600)); err != nil {
		return nil, nil, fmt.Errorf("write the rules for ast-grep: %w", err)
	}
	var args []string
	for _, t := range texts {
		arg, err := o.argument(t)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, arg)
	}
	nodes = make(map[string][]Node, len(texts))
	if err := o.ask(ctx, args, nodes); err != nil {
		return nil, nil, err
	}
	var silent []string
	for _, arg := range args {
		if t := o.texts[arg]; len(nodes[t.Path]) == 0 && len(bytes.TrimSpace(t.Text)) > 0 {
			silent = append(silent, arg)
		}
	}
	skipped, err = o.silent(ctx, silent)
	return nodes, skipped, err
}

type outliner struct {
	Program
	dir, own string
	texts    map[string]Text // by argument
	threads  int
}

// argument returns the path that ast-grep gets for a text. It is the file itself, or a copy if the file is not UTF-8 or
// contains the word that would turn ast-grep off. Offsets are the same in both.
func (o *outliner) argument(t Text) (string, error) {
	text := t.Text
	if bytes.Contains(text, []byte(ignoreWord)) {
		text, t.Copy = bytes.ReplaceAll(text, []byte(ignoreWord), []byte(neutralWord)), true
	}
	arg := "./" + t.Path // a name may begin with a dash
	if t.Copy {
		arg = filepath.Join(o.own, "copies", strconv.Itoa(len(o.texts)), path.Base(t.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(arg), 0o700), os.WriteFile(arg, text, 0o600)); err != nil {
			return "", fmt.Errorf("copy %s for ast-grep: %w", t.Path, err)
		}
		arg = filepath.ToSlash(arg)
	}
	o.texts[arg] = t
	return arg, nil
}

func (o *outliner) command(more []string, args []string) []string {
	all := append([]string{o.Path, "scan", "--config", filepath.Join(o.own, "sgconfig.yml"), "--rule",
		filepath.Join(o.own, "rules.yml"), "--json=stream", "--color", "never"}, more...)
	if o.threads > 0 {
		all = append(all, "--threads", strconv.Itoa(o.threads))
	}
	all = append(all, "--")
	for _, a := range args {
		all = append(all, filepath.FromSlash(a))
	}
	return all
}

// ask runs the program and parses its output as it arrives.
func (o *outliner) ask(ctx context.Context, args []string, nodes map[string][]Node) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a := newAnswer(o, nodes, func() { stop(ErrTooMuch) })
	res, err := proc.Run(ctx, proc.Cmd{
		Args: o.command(nil, args), Dir: o.dir, Env: o.Env, Reaper: o.Reaper, Stdout: a, Keep: 4 << 10,
		Limits: proc.Limits{Total: o.limit()},
	})
	if err != nil {
		return fmt.Errorf("run ast-grep: %w", err)
	}
	if a.size > maxAnswer {
		return fmt.Errorf("%w: more than %d MiB about %d files", ErrTooMuch, maxAnswer>>20, len(args))
	}
	var said []string
	if a.size == 0 || res.Exit != 0 {
		for l := range bytes.Lines([]byte(res.Tail)) {
			said = append(said, string(bytes.TrimSpace(l)))
		}
	}
	if err := verdict(res, said); err != nil {
		return err
	}
	return a.close()
}

// answer parses the program's output in pieces. It keeps only one line of the output itself.
type answer struct {
	*outliner
	read    proc.Records // lines
	nodes   map[string][]Node
	names   names
	lines   int
	size    int
	tooMuch func()

	file string // of the last line, and the matches in it
	text Text
	last []Node
}

func newAnswer(o *outliner, nodes map[string][]Node, tooMuch func()) *answer {
	a := &answer{outliner: o, nodes: nodes, names: names{}, tooMuch: tooMuch}
	a.read = proc.Records{End: '\n', Take: a.line}
	return a
}

// Write takes a piece. close returns its error.
func (a *answer) Write(p []byte) (int, error) {
	if a.size += len(p); a.size > maxAnswer {
		a.last = nil
		a.tooMuch()
		return len(p), nil
	}
	return a.read.Write(p)
}

// close reads what is left.
func (a *answer) close() error {
	err := a.read.Close()
	a.store()
	return err
}

// store stores the nodes of the last file.
func (a *answer) store() {
	if len(a.last) > 0 {
		a.nodes[a.text.Path] = append(a.nodes[a.text.Path], a.last...)
		a.last = a.last[:0]
	}
}

func (a *answer) line(line []byte) error {
	a.lines++
	if len(line) == 0 {
		return nil
	}
	file, node, err := decodeNode(line, a.names)
	if err != nil {
		return fmt.Errorf("read ast-grep's answer, line %d: %w", a.lines, err)
	}
	if file != a.file { // many lines of a file follow each other
		a.store()
		var ok bool
		if a.text, ok = a.texts[file]; !ok {
			if a.text, ok = a.texts["./"+path.Clean(filepath.ToSlash(file))]; !ok {
				return fmt.Errorf("ast-grep %s answered about %q, which was not in the request; install version %sx", a.Version, file,
					KnownGood)
			}
		}
		a.file = file
	}
	if !node.within(len(a.text.Text)) {
		return fmt.Errorf("read %s: it was changed while it was indexed; run it again", a.text.Path)
	}
	a.last = append(a.last, node)
	return nil
}

// names interns repeated words.
type names map[string]string

func (n names) of(word []byte) string {
	if s, ok := n[string(word)]; ok {
		return s
	}
	s := string(word)
	if n != nil {
		n[s] = s
	}
	return s
}

// silent runs ast-grep again on files without an answer, and reports whether it read them.
func (o *outliner) silent(ctx context.Context, args []string) ([]Skip, error) {
	if len(args) == 0 {
		return nil, nil
	}
	var notes, said []string
	res, err := proc.Run(ctx, proc.Cmd{
		Args: o.command([]string{"--inspect", "entity"}, args), Dir: o.dir, Env: o.Env, Reaper: o.Reaper, Keep: 4 << 10,
		Limits: proc.Limits{Total: o.limit()},
		Line: func(l string) {
			if len(l) > 4 && l[:4] == "sg: " {
				notes = append(notes, l)
			} else if len(said) < 50 && l != "" && l[0] != '{' {
				said = append(said, l)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("run ast-grep: %w", err)
	}
	if err := verdict(res, said); err != nil {
		return nil, err
	}
	asked := lists.SetBy(args, path.Clean)
	s := sight{files: map[string]string{}}
	if err := s.read(notes, asked); err != nil {
		return nil, err
	}
	var skipped []Skip
	for _, a := range args {
		switch why, looked := s.files[path.Clean(a)], s.looked(path.Clean(a)); {
		case looked && (why == "" || why == emptyFile):
		case why != "":
			skipped = append(skipped, Skip{o.texts[a].Path, why})
		default:
			skipped = append(skipped, Skip{o.texts[a].Path, "ast-grep did not report that it read the file"})
		}
	}
	return skipped, nil
}

// within reports whether all offsets lie in a text of n bytes.
func (n Node) within(size int) bool {
	ok := 0 <= n.Start && n.Start <= n.End && n.End <= size && (n.From < 0 || n.From <= n.To && n.To <= size)
	for _, v := range n.Vars {
		ok = ok && 0 <= v.Start && v.Start <= v.End && v.End <= size
	}
	return ok
}

// decodeNode reads one line of the answer. It reads only numbers and names, and skips the texts, which are most of
// the output.
func decodeNode(line []byte, known names) (file string, n Node, err error) {
	d := stepper{rest: line, names: known}
	n.Start, n.From = -1, -1
	d.object(func(key []byte) {
		switch string(key) {
		case "file":
			file = d.string()
		case "ruleId":
			n.Rule = d.string()
		case "range":
			n.Start, n.End = d.offsets()
		case "replacementOffsets":
			n.From, n.To = d.span()
		case "metaVariables":
			d.object(func(key []byte) {
				if string(key) != "single" {
					d.skip()
					return
				}
				d.object(func(key []byte) {
					v := Var{Name: d.names.of(key)}
					d.object(func(key []byte) {
						if string(key) == "range" {
							v.Start, v.End = d.offsets()
						} else {
							d.skip()
						}
					})
					n.Vars = append(n.Vars, v)
				})
			})
		default:
			d.skip()
		}
	})
	switch {
	case d.bad || len(bytes.TrimSpace(d.rest)) > 0:
		return "", n, fmt.Errorf("not one JSON object: %q", firstLine(string(line)))
	case file == "" || n.Rule == "" || n.Start < 0:
		return "", n, errors.New(`it has no "file", "ruleId" or "range"`)
	}
	return file, n, nil
}

// stepper walks through one JSON value. What it cannot read sets bad, and ends the walk.
type stepper struct {
	rest  []byte
	bad   bool
	depth int
	names names // may be nil
}

func (d *stepper) fail() { d.bad, d.rest = true, nil }

// next steps over white space and returns the byte that follows, 0 at the end.
func (d *stepper) next() byte {
	for len(d.rest) > 0 {
		switch c := d.rest[0]; c {
		case ' ', '\t', '\r', '\n':
			d.rest = d.rest[1:]
		default:
			return c
		}
	}
	return 0
}

func (d *stepper) take(c byte) bool {
	if d.next() != c {
		return false
	}
	d.rest = d.rest[1:]
	return true
}

// object calls each for every key; each must step over the value. null is an object without keys.
func (d *stepper) object(each func(key []byte)) {
	if d.next() == 'n' {
		d.skip()
		return
	}
	if d.depth++; d.depth > 64 || !d.take('{') {
		d.fail()
		return
	}
	defer func() { d.depth-- }()
	if d.take('}') {
		return
	}
	for !d.bad {
		key := d.raw()
		if !d.take(':') {
			d.fail()
			return
		}
		each(key)
		if d.take(',') {
			continue
		}
		if !d.take('}') {
			d.fail()
		}
		return
	}
}

// raw returns a string as it is written, without its quotes.
func (d *stepper) raw() []byte {
	if !d.take('"') {
		d.fail()
		return nil
	}
	for from := 0; ; {
		i := bytes.IndexByte(d.rest[from:], '"')
		if i < 0 {
			d.fail()
			return nil
		}
		i += from
		back := 0
		for back < i && d.rest[i-1-back] == '\\' {
			back++
		}
		if back%2 == 0 {
			s := d.rest[:i]
			d.rest = d.rest[i+1:]
			return s
		}
		from = i + 1
	}
}

func (d *stepper) string() string {
	raw := d.raw()
	if bytes.IndexByte(raw, '\\') < 0 {
		return d.names.of(raw)
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &s) != nil {
		d.fail()
	}
	return s
}

func (d *stepper) int() int {
	d.next()
	n, i := 0, 0
	for ; i < len(d.rest) && d.rest[i] >= '0' && d.rest[i] <= '9' && n < math.MaxInt32; i++ {
		n = 10*n + int(d.rest[i]-'0')
	}
	if i == 0 || n >= math.MaxInt32 {
		d.fail()
		return -1
	}
	d.rest = d.rest[i:]
	return n
}

// span reads {"start": 1, "end": 2}.
func (d *stepper) span() (start, end int) {
	start, end = -1, -1
	d.object(func(key []byte) {
		switch string(key) {
		case "start":
			start = d.int()
		case "end":
			end = d.int()
		default:
			d.skip()
		}
	})
	return start, end
}

// offsets reads the byte offsets of a range.
func (d *stepper) offsets() (start, end int) {
	start, end = -1, -1
	d.object(func(key []byte) {
		if string(key) == "byteOffset" {
			start, end = d.span()
		} else {
			d.skip()
		}
	})
	return start, end
}

// skip steps over one value.
func (d *stepper) skip() {
	switch d.next() {
	case '"':
		d.raw()
	case '{':
		d.object(func([]byte) { d.skip() })
	case '[':
		d.rest = d.rest[1:]
		if d.depth++; d.depth > 64 {
			d.fail()
			return
		}
		defer func() { d.depth-- }()
		if d.take(']') {
			return
		}
		for !d.bad {
			d.skip()
			if d.take(',') {
				continue
			}
			if !d.take(']') {
				d.fail()
			}
			return
		}
	default:
		i := 0
		for i < len(d.rest) && bytes.IndexByte([]byte(" \t\r\n,:]}"), d.rest[i]) < 0 {
			i++
		}
		if i == 0 {
			d.fail()
			return
		}
		d.rest = d.rest[i:]
	}
}
