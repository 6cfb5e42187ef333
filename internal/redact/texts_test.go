package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// Texts hides each text at any depth, except the values of the named keys.
func TestTexts(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(`{"a":["x",{"b":"x","path":"x"}],"n":1,"path":{"c":"x"}}`), &v); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(Texts(v, strings.ToUpper, "path"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":["X",{"b":"X","path":"x"}],"n":1,"path":{"c":"x"}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
