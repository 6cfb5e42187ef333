package promise

import "testing"

// If a batch says the same about two things and asks for tests, its tests have both or none of them by name.
func TestPairsAreTested(t *testing.T) {
	const (
		both   = "Both the prefix and the glue may have several characters. Add tests."
		old    = "package a\n\ntype Config struct {\n\tPrefix byte\n\tGlue byte\n}\n\nfunc Join(c *Config) string {\n\treturn text(c.Prefix, c.Glue)\n}\n"
		long   = "package a\n\ntype Config struct {\n\tPrefix string\n\tGlue string\n}\n\nfunc Join(c *Config) string {\n\treturn c.Prefix + c.Glue\n}\n"
		prefix = "package a\n\nfunc TestPrefix(t *testing.T) {\n\tif Join(&Config{Prefix: \"--\"}) != \"--\" {\n\t\tt.Fatal(1)\n\t}\n}\n"
		glue   = "\nfunc TestGlue(t *testing.T) {\n\tif Join(&Config{Glue: \"--\"}) != \"--\" {\n\t\tt.Fatal(1)\n\t}\n}\n"
	)
	for _, c := range []worded{
		{"one of two fields", both, files{"a.go": old}, files{"a.go": long, "a_test.go": prefix}, "example-untested"},
		{"one of two fields, beside old tests of the other", both, files{"a.go": old, "a_test.go": "package a\n" + glue},
			files{"a.go": long, "a_test.go": prefix + glue}, "example-untested"},
		{"both fields", both, files{"a.go": old}, files{"a.go": long, "a_test.go": prefix + glue}, ""},
		{"a changed test of the other", both, files{"a.go": old, "a_test.go": "package a\n" + glue},
			files{"a.go": long, "a_test.go": prefix + "\nfunc TestGlue(t *testing.T) {\n\tif Join(&Config{Glue: \"--\"}) != \"--\" {\n\t\tt.Fatal(2)\n\t}\n}\n"}, ""},
		{"neither by name", both, files{"a.go": old}, files{"a.go": long, "a_test.go": "package a\n\nfunc TestJoin(t *testing.T) {\n\tif Join(&Config{\"-\", \"-\"}) != \"--\" {\n\t\tt.Fatal(1)\n\t}\n}\n"}, ""},
		{"no tests asked", "Both the prefix and the glue may have several characters.", files{"a.go": old}, files{"a.go": long, "a_test.go": prefix}, ""},
		{"names in code", "`Prefix` and `Glue` must be texts. Add tests.", files{"a.go": old}, files{"a.go": long, "a_test.go": prefix}, "example-untested"},
		{"one of two functions", "Both `parse` and `show` accept hex. Add tests.", files{"a.py": "def parse(t):\n    return int(t)\n\n\ndef show(t):\n    return str(t)\n"},
			files{"a.py": "def parse(t):\n    return int(t, 0)\n\n\ndef show(t):\n    return hex(t)\n", "test_a.py": "def test_hex():\n    assert parse('0x1f') == 31\n"}, "example-untested"},
		{"a pair that stays", "Both the prefix and the glue are still written. Add tests.", files{"a.go": old}, files{"a.go": long, "a_test.go": prefix}, ""},
		{"words of no code", "Both upper and lower letters are allowed in the prefix. Add tests.", files{"a.go": old}, files{"a.go": long, "a_test.go": prefix}, ""},
	} {
		c.check(t)
	}
}
