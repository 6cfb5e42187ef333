package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// Each text is hidden, however deep, but for what has to be found again by its name.
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
