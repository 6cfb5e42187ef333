// Package yamldoc parses YAML documents for lessons, rule files, blueprints and the front matter of plans. Its errors name
// the line, and a panic of the YAML library becomes an error.
package yamldoc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	fastyaml "gopkg.in/yaml.v3"
)

// Parse returns the tree of a text. A key that occurs twice is an error.
func Parse(text string) (file *ast.File, err error) {
	defer caught(&err)
	return parser.ParseBytes([]byte(text), 0)
}

// Decode puts a part of a tree into a value. With [yaml.Strict], an unknown key is an error.
func Decode(n ast.Node, to any, how ...yaml.DecodeOption) (err error) {
	defer caught(&err)
	return yaml.NodeToValue(n, to, how...)
}

// Unmarshal puts a text into a value and ignores unknown keys.
func Unmarshal(text []byte, to any) (err error) {
	defer caught(&err)
	return yaml.Unmarshal(text, to)
}

// UnmarshalTested does what [Unmarshal] does for a file of the program, which tests read. It takes less than half of the
// time, but does not name the place of each error.
func UnmarshalTested(text []byte, to any) error { return fastyaml.Unmarshal(text, to) }

func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("cannot be read as YAML: %v", r)
	}
}

// Place returns the line of an error, from 1, and its message in one line. The line is 0 if it is not known.
func Place(err error) (line int, message string) {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		return at.GetToken().Position.Line, at.GetMessage()
	}
	message, _, _ = strings.Cut(err.Error(), "\n")
	return 0, message
}
