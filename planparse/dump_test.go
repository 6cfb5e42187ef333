package planparse

import (
	"fmt"
	"os"
	"testing"
)

func TestDump(t *testing.T) {
	f := os.Getenv("DUMP")
	if f == "" {
		t.Skip()
	}
	src, _ := os.ReadFile(f)
	p, err := Parse(f, src)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s %q %+v\n", p.Format, p.Title, p.Counts)
	for _, b := range p.Batches {
		fmt.Printf("  %s [%s] %q g=%s dep=%v %d-%d files=%+v cmds=%d blocks=%d crit=%v\n", b.Key, b.Number, b.Title, b.Group, b.DependsOn, b.StartLine, b.EndLine, b.Files, len(b.Commands), len(b.Blocks), b.Critical)
		for _, tk := range b.Tasks {
			fmt.Printf("     task %s %q done=%v lit=%v %d-%d steps=%d\n", tk.Number, tk.Title, tk.Done, tk.Literal, tk.Line, tk.EndLine, len(tk.Steps))
		}
		if os.Getenv("CMDS") != "" {
			for _, c := range b.Commands {
				fmt.Printf("     $ %q => %q\n", c.Run, c.Expected)
			}
		}
	}
	for _, d := range p.Diagnostics {
		fmt.Printf("  %s %d %s %s\n", d.Severity, d.Line, d.Code, d.Message)
	}
}
