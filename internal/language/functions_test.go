package language

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The lines of a function belong to its name, those of imports to none, and all others to "".
func TestFunctions(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want map[string]string
	}{
		"Python": {"import os\n\nLIMIT = 2\n\ndef add(\n    a,\n    b,\n):\n    return a + b\n\nclass C:\n    def get(self):\n        return 1\n",
			map[string]string{"": "LIMIT = 2\nclass C:\n", "add": "def add(\na,\nb,\n):\nreturn a + b\n",
				"get": "def get(self):\nreturn 1\n"}},
		"Go": {"func (c *C) Get() int {\n\treturn 1\n}\n\nvar x = 1\n",
			map[string]string{"": "var x = 1\n", "Get": "func (c *C) Get() int {\nreturn 1\n"}},
		"JavaScript": {"const add = (a, b) => {\n  if (a) {\n    return b\n  }\n}\nexport { add }\n",
			map[string]string{"add": "const add = (a, b) => {\nif (a) {\nreturn b\n}\n"}},
		"no function": {"if (a) {\n}\n", map[string]string{"": "if (a) {\n}\n"}},
	} {
		if d := cmp.Diff(c.want, Functions(c.code)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
