package checksum

import "testing"

func TestSHA256(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, B.1
	if text, data := SHA256("abc"), SHA256([]byte("abc")); text != want || data != want {
		t.Errorf("the checksums of abc are %s and %s, not %s", text, data, want)
	}
}
