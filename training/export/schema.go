package export

import (
	"embed"
	"fmt"
	"sort"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/runplan/runplan/internal/lists"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// SchemaText returns the named JSON schema (draft-07).
func SchemaText(name string) ([]byte, error) {
	b, err := schemaFiles.ReadFile("schemas/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("unknown schema %s", name)
	}
	return b, nil
}

// Schema validates lines.
type Schema struct {
	name   string
	schema *gojsonschema.Schema
}

// SchemaOf returns the named schema.
func SchemaOf(name string) (*Schema, error) {
	text, err := SchemaText(name)
	if err != nil {
		return nil, err
	}
	s, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(text))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return &Schema{name, s}, nil
}

// Check returns an error if a line does not match the schema.
func (s *Schema) Check(line []byte) error {
	res, err := s.schema.Validate(gojsonschema.NewBytesLoader(line))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if res.Valid() {
		return nil
	}
	all := lists.Map(res.Errors(),
		func(e gojsonschema.ResultError) string { return e.Context().String() + ": " + e.Description() })
	sort.Strings(all)
	return fmt.Errorf("it does not meet the schema %s: %s", s.name, strings.Join(all, "; "))
}
