package held

import (
	"strings"
	"testing"
)

func TestMergeRust(t *testing.T) {
	const (
		docs  = "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(2, 3), 5);\n/// ```\n"
		code  = "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n"
		tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(2, 3), 5);\n    }\n}\n"
	)
	before := docs + code + tests
	for name, c := range map[string]struct {
		after, want string
		changed     bool
	}{
		"other code":       {strings.Replace(before, "a - b", "a + b", 1), "", false},
		"another test":     {strings.Replace(before, "super::add(2, 3), 5", "super::add(2, 3), -1", 1), before, true},
		"another example":  {strings.Replace(before, "```\n", "```no_run\n", 1), before, true},
		"code and example": {strings.NewReplacer("a - b", "b - a", "calc::add(2, 3), 5", "1, 1").Replace(before), strings.Replace(before, "a - b", "b - a", 1), true},
		"a new example":    {before + "\n/// ```\n/// mul();\n/// ```\npub fn mul() {}\n", "", false},
		"no tests":         {docs + code, "", false},
	} {
		got, changed := mergeRust(before, c.after)
		if changed != c.changed || changed && got != c.want {
			t.Errorf("%s: %v\n%s", name, changed, got)
		}
	}
}
