package chat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training"
)

// list is a list that supports negative indexes down to minus its length, which the library handles incorrectly.
type list []any

// GetItem returns the element at an index. Negative indexes count from the end.
func (l list) GetItem(key any) (*exec.Value, bool) {
	i, ok := key.(int)
	if i < 0 {
		i += len(l)
	}
	if !ok || i < 0 || i >= len(l) {
		return exec.AsValue(nil), false
	}
	return exec.AsValue(l[i]), true
}

func objects(conversation []training.Message) []any {
	return lists.Map(conversation,
		func(m training.Message) any { return map[string]any{"role": m.Role, "content": m.Content} })
}

// block implements {% generation %}, which marks the model's answer and renders its contents.
type block struct {
	at      *tokens.Token
	wrapper *nodes.Wrapper
}

func generation(p, args *parser.Parser) (nodes.ControlStructure, error) {
	b := &block{at: p.Current()}
	w, rest, err := p.WrapUntil("endgeneration")
	if err != nil {
		return nil, err
	}
	if !args.End() || !rest.End() {
		return nil, args.Error("arguments are not allowed here", nil)
	}
	b.wrapper = w
	return b, nil
}

func (b *block) Position() *tokens.Token { return b.at }
func (b *block) String() string          { return fmt.Sprintf("generation (line %d)", b.at.Line) }

// Execute renders the contents of the block.
func (b *block) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	return r.ExecuteWrapper(b.wrapper)
}

func refused(name string) parser.ControlStructureParser {
	return func(p, _ *parser.Parser) (nodes.ControlStructure, error) {
		return nil, p.Error("a chat template may not "+name+" another one", p.Current())
	}
}

// toJSON implements the tojson filter of the transformers library: Python's JSON format without HTML escaping.
func toJSON(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	indent := -1
	for name, v := range params.KwArgs {
		switch {
		case name == "indent" && v.IsInteger():
			indent = v.Integer()
		case name == "indent" && v.IsNil(), name == "ensure_ascii" && !v.IsTrue():
		default:
			return exec.AsValue(fmt.Errorf("tojson: unsupported argument %s=%s", name, v.String()))
		}
	}
	if len(params.Args) > 0 {
		return exec.AsValue(errors.New("tojson: only named arguments are supported"))
	}
	text, err := pythonJSON(in.ToGoSimpleType(false), indent)
	if err != nil {
		return exec.AsValue(err)
	}
	return exec.AsSafeValue(text)
}

// pythonJSON formats a value as Python's json.dumps does, with a space after each comma and colon.
func pythonJSON(v any, indent int) (string, error) {
	options := []json.Options{jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(indent < 0),
		jsontext.AllowInvalidUTF8(true), json.WithMarshalers(json.JoinMarshalers(
			json.MarshalToFunc(objectJSON), json.MarshalToFunc(func(_ *jsontext.Encoder, err error) error { return err })))}
	if indent >= 0 {
		options = append(options, jsontext.WithIndent(strings.Repeat(" ", indent)))
	}
	b, err := json.Marshal(v, options...)
	return string(b), err
}

// objectJSON writes an object. The role of a message comes first, as usual. The original order of the other keys is
// unknown.
func objectJSON(e *jsontext.Encoder, object map[string]any) error {
	keys := slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		if (a == "role") != (b == "role") {
			return map[bool]int{true: -1, false: 1}[a == "role"]
		}
		return strings.Compare(a, b)
	})
	err := e.WriteToken(jsontext.BeginObject)
	for _, k := range keys {
		err = errors.Join(err, e.WriteToken(jsontext.String(k)), json.MarshalEncode(e, object[k]))
	}
	return errors.Join(err, e.WriteToken(jsontext.EndObject))
}
