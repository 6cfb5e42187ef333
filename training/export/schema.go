package export

import (
	"embed"
	"fmt"

	"github.com/runplan/runplan/internal/schema"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// SchemaOf returns the named JSON schema (draft-07). It checks lines.
func SchemaOf(name string) (*schema.Schema, error) {
	text, err := schemaFiles.ReadFile("schemas/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("unknown schema %s", name)
	}
	s, err := schema.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return s, nil
}
