package validate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/xeipuuv/gojsonschema"
)

// JSONSchemaValidator measures the share of answers that are JSON and match a schema.
type JSONSchemaValidator struct{ schema *gojsonschema.Schema }

// NewJSONSchema parses a schema.
func NewJSONSchema(text []byte) (JSONSchemaValidator, error) {
	if !json.Valid(text) {
		return JSONSchemaValidator{}, errors.New("the schema is not valid JSON")
	}
	s, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(text))
	if err != nil {
		return JSONSchemaValidator{}, fmt.Errorf("read the schema: %w", err)
	}
	return JSONSchemaValidator{s}, nil
}

// Validate measures answers.
func (v JSONSchemaValidator) Validate(answers []string) Score {
	good := 0
	for _, a := range answers {
		if !json.Valid([]byte(a)) {
			continue
		}
		if res, err := v.schema.Validate(gojsonschema.NewStringLoader(a)); err == nil && res.Valid() {
			good++
		}
	}
	return Of("", JSONThreshold, []Measure{exact("valid", 1, good, len(answers), "the answer is empty")})
}
