package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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

func wrapped(p, args *parser.Parser, end string) (nodes.ControlStructure, error) {
	b := &block{at: p.Current()}
	w, rest, err := p.WrapUntil(end)
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
	text, err := pythonJSON(in.ToGoSimpleType(false), indent, 0)
	if err != nil {
		return exec.AsValue(err)
	}
	return exec.AsSafeValue(text)
}

// pythonJSON formats a value as Python's json.dumps does, with a space after each comma and colon.
func pythonJSON(v any, indent, depth int) (string, error) {
	comma, open, closing := ", ", "", ""
	if indent >= 0 {
		open = "\n" + strings.Repeat(" ", indent*(depth+1))
		closing = "\n" + strings.Repeat(" ", indent*depth)
		comma = "," + open
	}
	switch x := v.(type) {
	case map[string]any:
		keys := slices.Collect(maps.Keys(x))
		// The role of a message comes first, as usual. The original order of the other keys is unknown.
		slices.SortFunc(keys, func(a, b string) int {
			if (a == "role") != (b == "role") {
				return map[bool]int{true: -1, false: 1}[a == "role"]
			}
			return strings.Compare(a, b)
		})
		var parts []string
		for _, k := range keys {
			text, err := pythonJSON(x[k], indent, depth+1)
			if err != nil {
				return "", err
			}
			parts = append(parts, quoted(k)+": "+text)
		}
		return enclosed("{", "}", parts, open, comma, closing), nil
	case []any:
		var parts []string
		for _, e := range x {
			text, err := pythonJSON(e, indent, depth+1)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return enclosed("[", "]", parts, open, comma, closing), nil
	case list:
		return pythonJSON([]any(x), indent, depth)
	case string:
		return quoted(x), nil
	case error:
		return "", x
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func enclosed(begin, end string, parts []string, open, comma, closing string) string {
	if len(parts) == 0 {
		return begin + end
	}
	return begin + open + strings.Join(parts, comma) + closing + end
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings can always be encoded
	text := strings.TrimSuffix(b.String(), "\n")
	return strings.NewReplacer("\\u2028", "\u2028", "\\u2029", "\u2029").Replace(text)
}
