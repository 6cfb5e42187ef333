package draft

import (
	"fmt"
	"os"
	"testing"
)

func TestTry(t *testing.T) {
	src, err := os.ReadFile(os.Getenv("DOC"))
	if err != nil {
		t.Skip(err)
	}
	p, err := Outline("docs/design.md", src, func(p string) bool { return p == "docs/design.md" })
	if err != nil {
		fmt.Println("ERR", err)
		return
	}
	text, err := p.Markdown()
	if err != nil {
		fmt.Println("MD", err)
		fmt.Println(p.markdown(true))
		return
	}
	fmt.Println(text)
}
