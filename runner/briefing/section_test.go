package briefing

import (
	"bytes"
	"strings"
	"testing"
)

func TestSection(t *testing.T) {
	for name, file := range map[string]string{
		"empty": "", "one line": "# Rules\n", "no line feed at the end": "# Rules", "CRLF": "# Rules\r\nBe kind.\r\n",
		"blank lines": "\n\n# x\n\n\n",
		"no text":     "\xff\x00\n\xfe", "an end without a beginning": markEnd + "\ntext\n",
		"a beginning without an end": "text\n" + markBegin + "\nmore\n",
		"the mark inside of a line":  "see " + markBegin + " and " + markEnd + "\n",
		"a heading of the kind":      "## Run-Plan: Batch 2\n\nby hand\n",
	} {
		t.Run(name, func(t *testing.T) {
			one := Section([]byte(file), "## Run-Plan: Batch 1\n\nfirst\n")
			two := Section(one, "## Run-Plan: Batch 2\n\nsecond\n"+markEnd+"\n"+markBegin+"\n")
			if !bytes.HasPrefix(two, []byte(file)) || !bytes.Contains(two, []byte("second\n")) ||
				bytes.Contains(two, []byte("first\n")) {
				t.Errorf("the second batch makes it %q", two)
			}
			if got := WithoutSection(two); string(got) != file {
				t.Errorf("without the section, the file is %q, was %q", got, file)
			}
			if got := WithoutSection([]byte(file)); string(got) != file {
				t.Errorf("a file without one became %q", got)
			}
		})
	}
}

// Text that an agent writes around the section remains after the section is removed.
func TestWithoutSectionKeepsAgentText(t *testing.T) {
	for _, file := range []string{"a\n", "a"} {
		with := Section([]byte(file), "block")
		with = append([]byte("above\n"), append(with, "below\n"...)...)
		if got := string(WithoutSection(with)); got != "above\na\nbelow\n" {
			t.Errorf("%q: %q", file, got)
		}
	}
}

// All sections of a file are removed, including those with other line endings.
func TestWithoutSectionRemovesAllSections(t *testing.T) {
	once := markBegin + "\nx\n" + markEnd + "\n"
	if got := WithoutSection([]byte("a\n" + once + "b\n" + strings.ReplaceAll(once, "\n", "\r\n") + once)); string(
		got) != "a\nb\n" {
		t.Errorf("the result is %q", got)
	}
}

func FuzzSection(f *testing.F) {
	for _, text := range []string{"", "a", "a\n", "a\r\n", markBegin, markBegin + "\n", markEnd + "\n", markBegin +
		"\nx\n" + markEnd + "\ny", markJoined + "\n" + markEnd, "\n" + markJoined + "\n" + markBegin} {
		f.Add([]byte(text), text)
	}
	f.Fuzz(func(t *testing.T, file []byte, block string) {
		before := bytes.Clone(file)
		plain := WithoutSection(file)
		with := Section(file, block)
		if got := WithoutSection(with); !bytes.Equal(got, plain) {
			t.Fatalf("%q: after adding and removing a section, it is %q, want %q", file, got, plain)
		}
		if !bytes.Contains(file, []byte("<!-- runplan:context")) && !bytes.Equal(plain, file) {
			t.Fatalf("%q has no section, but WithoutSection changes it to %q", file, plain)
		}
		if again := Section(with, block); !bytes.Equal(again, with) {
			t.Fatalf("the second call returns %q for %q", again, with)
		}
		if !bytes.Equal(file, before) {
			t.Fatal("the caller's bytes were changed")
		}
	})
}
