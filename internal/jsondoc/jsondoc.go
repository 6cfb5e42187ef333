// Package jsondoc reads JSON documents that people and other programs write.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode stores one JSON value in v. An unknown field is an error, because it would be ignored without notice, and so
// is text after the value.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}
