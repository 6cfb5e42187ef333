package trust

import "testing"

func TestWordsKeepArgumentsApart(t *testing.T) {
	seen := map[string]bool{}
	for _, args := range [][]string{{"a", "b"}, {"a b"}, {"a", "", "b"}, {"\"a", "b\""}, {`"a b"`}, {"a\nb"}, {"ab"}, {}} {
		text := Words(args)
		if seen[text] {
			t.Errorf("%q is written as %s, like another list", args, text)
		}
		seen[text] = true
	}
}
