package history

import (
	"github.com/runplan/runplan/internal/fence"
	"slices"
	"strings"
	"testing"
)

// A version has a secret exactly if a search of that version alone finds one, whatever is searched before or together
// with it.
func TestVersionSecretsAreIndependent(t *testing.T) {
	key := "AKIA" + strings.Repeat("Q7", 8)
	head, tail := strings.Repeat("x = 1\n", 20), strings.Repeat("y = 2\n", 20)
	block := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEAu5\n", 12) + "-----END RSA " +
		"PRIVATE KEY-----\n"
	var versions []text
	for _, middle := range []string{"", "z = 3\n", "aws = '" + key + "'\n", "z = 4\n", "z = 4\naws = '" + key + "'\n",
		"aws = '" + key + "'  # again\n", "", "# a private key\n", block, strings.Replace(block, "MII", "MIJ", 3), ""} {
		versions = append(versions, text{"a.py", head + middle + tail}, text{"b.py", head + middle},
			text{"c.py", middle + tail})
	}
	var want []bool
	for _, v := range versions {
		found, err := newSentry(t.TempDir(), fence.Hide).look(t.Context(), []text{v})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, found[0])
	}
	if !slices.Contains(want, true) || !slices.Contains(want, false) {
		t.Fatal(want)
	}
	for _, together := range []int{1, 2, 5, len(versions)} {
		s := newSentry(t.TempDir(), fence.Hide)
		var got []bool
		for part := range slices.Chunk(versions, together) {
			found, err := s.look(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, found...)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%d together, version %d of %s: %v, alone %v", together, i/3, versions[i].path, got[i], want[i])
			}
		}
	}
}
