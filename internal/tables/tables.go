// Package tables reads tables of data that are part of the program.
package tables

import (
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Read decodes the text of an embedded TOML file into a struct. It panics if the text is invalid or has a field that
// the struct does not have; a test of each table reads it.
func Read(text string, to any) {
	if err := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(to); err != nil {
		panic(err)
	}
}
