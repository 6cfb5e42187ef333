// Package schema checks JSON documents against JSON schemas, with one form of errors for all callers.
package schema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/runplan/runplan/internal/lists"
)

// Schema is a compiled schema. It can check several documents, also concurrently.
type Schema struct{ compiled *jsonschema.Schema }

// Compile reads a schema. Without $schema it is read as draft-07. A schema can refer only to itself: nothing is loaded
// from files or from the network.
func Compile(text []byte) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	const name = "schema:///own.json"
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, err
	}
	return &Schema{compiled}, nil
}

// most is the number of places that an error names.
const most = 3

// Check returns an error unless text is one JSON document that meets the schema. The error names the first places in
// the document and what the schema expects there. It never quotes strings of the document: a model may have chosen them.
func (s *Schema) Check(text []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	err = s.compiled.Validate(doc)
	wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	places := lists.Unique(leaves(wrong)) // the validator visits properties in no fixed order
	if n := len(places); n > most {
		places = append(places[:most], fmt.Sprintf("and %d more", n-most))
	}
	return errors.New("it does not meet the schema at " + strings.Join(places, "; "))
}

// leaves returns the places of an error and of its causes. Only errors without causes are about a place of their own.
func leaves(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{cmp.Or(strings.Join(e.InstanceLocation, "."), "(root)") + ": " + expected(e.ErrorKind)}
	}
	var all []string
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// expected says what the schema expects. Only kinds with texts of the schema, and with numbers, are written out.
func expected(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Format:
		return "want the format " + k.Want
	case *kind.Pattern:
		return "want text that matches " + k.Want
	case *kind.AdditionalProperties:
		return fmt.Sprintf("%d additional properties not allowed", len(k.Properties))
	case *kind.Type, *kind.Enum, *kind.Const, *kind.Required, *kind.Dependency, *kind.DependentRequired,
		*kind.MinProperties, *kind.MaxProperties, *kind.MinItems, *kind.MaxItems, *kind.AdditionalItems,
		*kind.UniqueItems, *kind.Contains, *kind.MinLength, *kind.MaxLength, *kind.Minimum, *kind.Maximum,
		*kind.ExclusiveMinimum, *kind.ExclusiveMaximum, *kind.MultipleOf, *kind.FalseSchema, *kind.Not, *kind.OneOf:
		return k.LocalizedString(message.NewPrinter(language.English))
	}
	return strings.Join(k.KeywordPath(), " ")
}
