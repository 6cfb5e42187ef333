package schema

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object","required":["a"],"additionalProperties":false,"properties":{
		"a":{"enum":["x","y"]},"n":{"type":"integer","maximum":100},"p":{"pattern":"^a"},"d":{"format":"date"},
		"l":{"type":"array","items":{"type":"string"}},"o":{"oneOf":[{"type":"string"},{"type":"object","required":["z"]}]},
		"k":{"propertyNames":{"maxLength":3}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"a":"x"}`:                       "",
		`{"a":"x","d":"2026-01-02"}`:      "",
		`{"a":"x","n":1.0}`:               "",
		`{`:                               "not JSON: unexpected EOF",
		`{"a":"x"} 1`:                     "not JSON: invalid character",
		`[]`:                              "at (root): got array, want object",
		`{}`:                              "at (root): missing property 'a'",
		`{"a":"secret"}`:                  "at a: value must be one of 'x', 'y'",
		`{"a":"x","secret":1}`:            "at (root): 1 additional properties not allowed",
		`{"a":"x","n":101}`:               "at n: maximum: got 101, want 100",
		`{"a":"x","n":1e999999999}`:       "at n: ",
		`{"a":"x","p":"secret"}`:          "at p: want text that matches ^a",
		`{"a":"x","d":"secret"}`:          "at d: want the format date",
		`{"a":"x","l":["",2,null]}`:       "at l.1: got number, want string; l.2: got null, want string",
		`{"a":"x","l":[1,2,3,4,5]}`:       "l.2: got number, want string; and 2 more",
		`{"a":"x","o":1}`:                 "at o: got number, want object; o: got number, want string",
		`{"a":"x","k":{"secret":"text"}}`: "maxLength: got 6, want 3",
	} {
		err := s.Check([]byte(text))
		switch {
		case (err == nil) != (want == ""), err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", text, err, want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: quotes the document: %v", text, err)
		}
	}
}

func TestCompileRefusesOtherSchemas(t *testing.T) {
	for _, text := range []string{"", "{", "{} {}", `{"type":"strin"}`, `{"pattern":"("}`, `{"$ref":"other.json"}`,
		`{"$ref":"file:///etc/hostname"}`, `{"$ref":"https://example.com/x.json"}`} {
		if _, err := Compile([]byte(text)); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
	if _, err := Compile([]byte(`{"$ref":"#/definitions/a","definitions":{"a":{"type":"string"}}}`)); err != nil {
		t.Error(err)
	}
}
