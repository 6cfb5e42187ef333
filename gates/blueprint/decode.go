package blueprint

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/yamldoc"
)

// FileError is an error at a line of a blueprint.
type FileError struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Error formats the error as "path:line: message".
func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message) }

// FileErrors holds all errors of a blueprint, in the order of its lines.
type FileErrors []*FileError

// Error formats one line for each error.
func (e FileErrors) Error() string {
	return phrase.Join(e, "\n", (*FileError).Error)
}

// decoder fills structs from a YAML tree, more strictly than a library does. Unknown keys, missing keys, wrong types
// and aliases are errors with their line. It reports all of them together.
type decoder struct {
	path  string
	lines map[string]int
	errs  FileErrors
}

func (d *decoder) errorf(line int, format string, args ...any) {
	d.errs = append(d.errs, &FileError{d.path, max(line, 1), fmt.Sprintf(format, args...)})
}

// lineOf returns the line on which a node begins.
func lineOf(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return lineOf(m.Values[0].Key)
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

// mapping reads the tree of one document that is a mapping.
func (d *decoder) mapping(text string) *ast.MappingNode {
	file, err := yamldoc.Parse(text)
	if err != nil {
		line, message := yamldoc.Place(err)
		d.errorf(line, "%s", message)
		return nil
	}
	var found *ast.MappingNode
	for _, doc := range file.Docs {
		switch n := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.MappingNode:
			if found != nil {
				d.errorf(lineOf(n), "a second YAML document; a blueprint is a single document")
				return nil
			}
			found = n
		default:
			d.errorf(lineOf(n), "not a mapping; a blueprint has keys such as unit: and intent:")
			return nil
		}
	}
	if found == nil {
		d.errorf(1, "the blueprint is empty; runplan blueprint init UNIT drafts one")
	}
	return found
}

// maxDepth bounds how deep a tree is followed.
const maxDepth = 20

// fill puts a node into a value. key is its place: "intent.purpose".
func (d *decoder) fill(to reflect.Value, n ast.Node, key string, depth int) {
	if c, ok := n.(*ast.TagNode); ok {
		d.errorf(lineOf(c), "%s: tags such as %s are not supported", key, c.Start.Value)
		return
	}
	if depth > maxDepth {
		d.errorf(lineOf(n), "%s: nested too deeply", key)
		return
	}
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		d.errorf(lineOf(n), "%s: anchors and aliases are not supported; repeat the value", key)
		return
	}
	if i, ok := to.Addr().Interface().(*Interface); ok {
		d.union(i, n, key, depth)
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		d.structure(to, n, key, depth, nil)
	case reflect.Slice:
		d.list(to, n, key, depth)
	case reflect.Pointer:
		v := reflect.New(to.Type().Elem())
		d.fill(v.Elem(), n, key, depth+1)
		to.Set(v)
	default:
		d.scalar(to, n, key)
	}
}

// union reads an interface: its type says which keys there may be.
func (d *decoder) union(to *Interface, n ast.Node, key string, depth int) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.errorf(lineOf(n), "%s is %s; it must be a mapping with a type", key, kindOf(n))
		return
	}
	is := entry(m, "type")
	if is == nil {
		d.errorf(lineOf(n), "%s.type is missing; use one of %s", key, phrase.List(InterfaceTypes()))
		return
	}
	var variant any
	if s, ok := is.Value.(*ast.StringNode); ok {
		variant = to.open(InterfaceType(s.Value))
	}
	if variant == nil {
		d.errorf(lineOf(is), "%s.type is %s; use one of %s", key, kindOf(is.Value), phrase.List(InterfaceTypes()))
		return
	}
	d.structure(reflect.ValueOf(variant).Elem(), n, key, depth, []string{"type"})
}

func (d *decoder) structure(to reflect.Value, n ast.Node, key string, depth int, known []string) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.errorf(lineOf(n), "%s is %s; it must be a mapping", cmp.Or(key, "the blueprint"), kindOf(n))
		return
	}
	fields := map[string]int{}
	var names []string
	for i := range to.NumField() {
		if name := to.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = i
			names = append(names, name)
		}
	}
	seen := map[string]bool{}
	for _, v := range m.Values {
		name := keyOf(v)
		place := join(key, name)
		line := lineOf(v.Key)
		if seen[name] {
			d.errorf(line, "%s occurs twice", place)
			continue
		}
		seen[name] = true
		d.lines[place] = line
		i, ok := fields[name]
		switch {
		case slices.Contains(known, name):
		case !ok:
			d.errorf(line, "%s is an unknown key; the keys here are %s", place,
				strings.Join(append(slices.Clone(known), names...), ", "))
		default:
			if v.Value == nil || v.Value.Type() == ast.NullType {
				if to.Type().Field(i).Tag.Get("need") != "" {
					d.errorf(line, "%s has no value%s", place, emptyHint(to.Field(i)))
				}
				continue
			}
			d.fill(to.Field(i), v.Value, place, depth+1)
		}
	}
	for _, name := range names {
		if to.Type().Field(fields[name]).Tag.Get("need") != "" && !seen[name] {
			d.errorf(lineOf(n), "%s is missing%s", join(key, name), emptyHint(to.Field(fields[name])))
		}
	}
}

// emptyHint returns advice on how to write an empty list.
func emptyHint(v reflect.Value) string {
	if v.Kind() == reflect.Slice {
		return "; write [] if there are none"
	}
	return ""
}

func (d *decoder) list(to reflect.Value, n ast.Node, key string, depth int) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.errorf(lineOf(n), "%s is %s; it must be a list", key, kindOf(n))
		return
	}
	out := reflect.MakeSlice(to.Type(), len(s.Values), len(s.Values))
	for i, v := range s.Values {
		place := key + "[" + strconv.Itoa(i) + "]"
		d.lines[place] = lineOf(v)
		if v == nil || v.Type() == ast.NullType {
			d.errorf(lineOf(s), "%s has no value", place)
			continue
		}
		d.fill(out.Index(i), v, place, depth+1)
	}
	to.Set(out)
}

func (d *decoder) scalar(to reflect.Value, n ast.Node, key string) {
	must := "text, put it in quotes"
	switch to.Kind() {
	case reflect.String:
		switch s := n.(type) {
		case *ast.StringNode:
			to.SetString(s.Value)
			return
		case *ast.LiteralNode:
			if s.Value != nil {
				to.SetString(strings.TrimRight(s.Value.Value, "\n"))
			}
			return
		}
	case reflect.Int:
		must = "a whole number"
		if i, ok := n.(*ast.IntegerNode); ok {
			if v, err := strconv.Atoi(fmt.Sprint(i.Value)); err == nil {
				to.SetInt(int64(v))
				return
			}
		}
	case reflect.Float64:
		must = "a number"
		switch f := n.(type) {
		case *ast.FloatNode:
			to.SetFloat(f.Value)
			return
		case *ast.IntegerNode:
			if v, err := strconv.ParseFloat(fmt.Sprint(f.Value), 64); err == nil {
				to.SetFloat(v)
				return
			}
		}
	}
	d.errorf(lineOf(n), "%s is %s; it must be %s", key, kindOf(n), must)
}

// entry returns the part of a mapping with a key; nil if there is none.
func entry(m *ast.MappingNode, key string) *ast.MappingValueNode {
	return lists.First(m.Values, func(v *ast.MappingValueNode) bool { return keyOf(v) == key })
}

func keyOf(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	if v.Key == nil || v.Key.GetToken() == nil {
		return ""
	}
	return v.Key.GetToken().Value
}

// kindOf returns the kind of a node in words.
func kindOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return "the text " + strconv.Quote(phrase.Cut(n.Value, 40))
	case *ast.LiteralNode:
		return "a multi-line text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + n.GetToken().Value
	case *ast.BoolNode:
		return "the truth value " + n.GetToken().Value
	case nil, *ast.NullNode:
		return "nothing"
	}
	return "another value"
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
