package jsondoc

import "testing"

func TestDecodeTakesOneValueWithKnownFields(t *testing.T) {
	for text, good := range map[string]bool{
		`{"name": "x"}`: true, "{}\n": true, `{"name": "x", "other": 1}`: false, `{} {}`: false, `{}x`: false, "": false,
	} {
		var v struct{ Name string }
		if err := Decode([]byte(text), &v); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
