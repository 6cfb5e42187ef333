package trust

import "testing"

func TestWordsKeepArgumentsApart(t *testing.T) {
	seen := map[string]bool{}
	for _, args := range [][]string{{"a", "b"}, {"a b"}, {"a", "", "b"}, {"\"a", "b\""}, {`"a b"`}, {"a\nb"}, {"ab"}, {}} {
		text := Words(args)
		if seen[text] {
			t.Errorf("%q reads %s, as another list does", args, text)
		}
		seen[text] = true
	}
}
