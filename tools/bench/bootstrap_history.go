package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

// fastImport makes a repository from the git fast-import stream that fill writes, packed like a clone.
func (b *bench) fastImport(name string, fill func(*past)) (string, error) {
	dir := filepath.Join(b.place.Dir, name)
	if _, err := b.place.Git(b.place.Dir, "init", "-q", "-b", "main", dir); err != nil {
		return "", err
	}
	in, to := io.Pipe()
	go func() {
		p := &past{out: bufio.NewWriterSize(to, 1<<20)}
		fill(p)
		to.CloseWithError(p.out.Flush())
	}()
	cmd := b.place.Command(dir, "git", "fast-import", "--quiet")
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	in.Close()
	if err != nil {
		return "", fmt.Errorf("git fast-import: %w\n%s", err, out)
	}
	for _, args := range [][]string{{"reset", "-q", "--hard"}, {"repack", "-adfq", "--depth=50"}} {
		if _, err := b.place.Git(dir, args...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// past writes commits, one after the other.
type past struct {
	out     *bufio.Writer
	commits int
}

// commit begins a commit on a branch. What it merges, if anything, is another branch.
func (p *past) commit(branch, merged, message string) {
	p.commits++
	fmt.Fprintf(p.out, "commit refs/heads/%s\nmark :%d\ncommitter bench <b@example.org> %d +0000\ndata %d\n%s\n", branch,
		p.commits, 1700000000+p.commits, len(message), message)
	if merged != "" {
		fmt.Fprintf(p.out, "merge refs/heads/%s\n", merged)
	}
}

func (p *past) file(name, text string) {
	fmt.Fprintf(p.out, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
}

// rebates writes n small commits on 60 Go files that use each other: all but the first make examples.
func rebates(n int) func(*past) {
	const files, functions = 60, 12
	return func(p *past) {
		version := map[int]int{}
		text := func(f int) string {
			var s strings.Builder
			fmt.Fprintf(&s, "// Package p%d knows rebates.\npackage p%d\n", f%6, f%6)
			for k := range functions {
				next := (f+6)%files*functions + k
				fmt.Fprintf(&s,
					"\n// Rebate%d takes a rebate off.\nfunc Rebate%d(cents int) int {\n\tif cents < %d {\n\t\treturn "+
						"cents\n\t}\n\treturn Rebate%d(cents - 1)\n}\n", f*functions+k, f*functions+k, version[f*functions+k], next)
			}
			return s.String()
		}
		name := func(f int) string { return fmt.Sprintf("p%d/rebate_%d.go", f%6, f) }
		for i := range n {
			p.commit("main", "", fmt.Sprintf("Raise the rebate of group %d to %d cents", i*7%files, i))
			if i == 0 {
				p.file("go.mod", "module example.org/rebates\n\ngo 1.24\n")
				for f := range files {
					p.file(name(f), text(f))
				}
				continue
			}
			for k := range 1 + i%3 {
				f := (i*7 + k) % files
				version[f*functions+i%functions]++
				p.file(name(f), text(f))
			}
		}
	}
}

// The vocabulary of the everyday history.
const (
	things = "account address balance basket bonus buyer cart charge customer delivery deposit discount invoice ledger " +
		"limit margin offer order parcel payment price product quote receipt refund region report return sale shipment " +
		"stock supplier tariff ticket transfer voucher warehouse"
	verbs = "add check clear count draw find format join list load mark merge move parse pick print round save send " +
		"sort split store sum track"
)

// everyday writes n typical commits: side branches and merges, documents, settings, other languages, meaningless
// messages, version bumps, large changes, generated files. About one in five makes examples. There are 300 Go files of
// 40 to 600 lines, in 24 packages.
func everyday(n int) func(*past) {
	const files, packages = 300, 24
	nouns, does := strings.Fields(things), strings.Fields(verbs)
	return func(p *past) {
		rnd := rand.New(rand.NewPCG(7, 7))
		type function struct{ name, body string }
		code := make([][]function, files)
		body := func(f int) string {
			var s strings.Builder
			for range 2 + rnd.IntN(5) {
				noun := nouns[rnd.IntN(len(nouns))]
				switch rnd.IntN(4) {
				case 0:
					fmt.Fprintf(&s, "\tif len(%s) > %d {\n\t\treturn 0, fmt.Errorf(\"%s of %%d is too much\", len(%s))\n\t}\n", "name",
						rnd.IntN(900), noun, "name")
				case 1:
					fmt.Fprintf(&s,
						"\tfor i := range amount {\n\t\tif i%%%d == 0 { // every so often the %s is due\n\t\t\ttotal += i * "+
							"%d\n\t\t}\n\t}\n", 2+rnd.IntN(9), noun, rnd.IntN(99))
				case 2:
					fmt.Fprintf(&s, "\ttotal += strings.Count(name, %q) * %d\n", noun, rnd.IntN(99))
				default:
					other := code[(f+packages*(1+rnd.IntN(3)))%files]
					if len(other) == 0 {
						fmt.Fprintf(&s, "\t// The %s comes first.\n\ttotal -= amount\n", noun)
						continue
					}
					fmt.Fprintf(&s, "\tif n, err := %s(name, amount-1); err == nil {\n\t\ttotal += n\n\t}\n",
						other[rnd.IntN(len(other))].name)
				}
			}
			return s.String()
		}
		title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
		name := func(f int) string {
			return fmt.Sprintf("internal/%s/%s_%s.go", nouns[f%packages], nouns[f/packages*3%len(nouns)], does[f%len(does)])
		}
		text := func(f int) string {
			var s strings.Builder
			fmt.Fprintf(&s,
				"// Package %s keeps what is known of each %s.\npackage %s\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n",
				nouns[f%packages], nouns[f%packages], nouns[f%packages])
			for _, x := range code[f] {
				fmt.Fprintf(&s,
					"\n// %s works out what the %s comes to, for all that have one.\nfunc %s(name string, amount int) (int, error) "+
						"{\n\ttotal := amount\n%s\treturn total, nil\n}\n", x.name, nouns[f%packages], x.name, x.body)
			}
			return s.String()
		}
		for f := range files {
			for k := range 2 + rnd.IntN(6)*rnd.IntN(6) {
				code[f] = append(code[f],
					function{title(does[k%len(does)]) + title(nouns[(f+k)%len(nouns)]) + fmt.Sprint(f), body(f)})
			}
		}
		p.commit("main", "", "Begin")
		p.file("go.mod", "module example.org/shop\n\ngo 1.24\n")
		for f := range files {
			p.file(name(f), text(f))
		}
		change := func(f int) { // one function gets another body
			k := rnd.IntN(len(code[f]))
			code[f][k].body = body(f)
			p.file(name(f), text(f))
		}
		words := func(many int) string {
			var s strings.Builder
			for i := range many {
				s.WriteString(nouns[rnd.IntN(len(nouns))] + " " + does[rnd.IntN(len(does))])
				s.WriteByte(" \n"[min(1, i%9/8)])
			}
			return s.String()
		}
		about := func() (int, string) {
			f := rnd.IntN(files)
			return f, fmt.Sprintf("%s the %s of each %s once more\n\n%s", title(does[rnd.IntN(len(does))]),
				nouns[rnd.IntN(len(nouns))], nouns[f%packages], words(rnd.IntN(60)))
		}
		for p.commits < n {
			f, message := about()
			switch k := rnd.IntN(100); {
			case k < 10: // a side branch of one commit, and its merge
				fmt.Fprintf(p.out, "reset refs/heads/side\nfrom :%d\n\n", p.commits)
				p.commit("side", "", "more work")
				change(f)
				p.commit("main", "side", "Merge branch 'side'")
				p.file(name(f), text(f))
			case k < 26:
				p.commit("main", "", message)
				p.file(fmt.Sprintf("docs/%s.md", nouns[rnd.IntN(len(nouns))]), words(200+rnd.IntN(3000)))
			case k < 33:
				p.commit("main", "", message)
				p.file(fmt.Sprintf("deploy/%s.yaml", nouns[rnd.IntN(len(nouns))]), words(50+rnd.IntN(300)))
			case k < 45:
				p.commit("main", "", []string{"fix", "wip", "fix tests", "review comments", "typo", "more cleanup"}[rnd.IntN(6)])
				for range 1 + rnd.IntN(3) {
					change(rnd.IntN(files))
				}
			case k < 53:
				p.commit("main", "", fmt.Sprintf("Bump github.com/example/lib from 1.%d.0 to 1.%d.0", k, k+1))
				p.file("go.mod", fmt.Sprintf("module example.org/shop\n\ngo 1.24\n\nrequire example.org/lib v1.%d.0\n", p.commits))
				p.file("go.sum", words(600))
			case k < 66:
				p.commit("main", "", message)
				for i := range 6 + rnd.IntN(20) {
					change((f + i*7) % files)
				}
			case k < 73: // many lines in few files
				p.commit("main", "", message)
				for i := range 2 {
					for j := range code[(f+i)%files] {
						code[(f+i)%files][j].body = body(f) + body(f) + body(f) + body(f)
					}
					p.file(name((f+i)%files), text((f+i)%files))
					for j := range code[(f+i)%files] {
						code[(f+i)%files][j].body = body(f)
					}
				}
			case k < 77:
				p.commit("main", "", message)
				p.file("internal/wire/wire.pb.go", "package wire\n\n// "+strings.ReplaceAll(words(2000), "\n", "\n// ")+"\n")
			default: // usable commits
				p.commit("main", "", message)
				for i := range 1 + rnd.IntN(3) {
					change((f + i*packages) % files)
				}
				if rnd.IntN(4) == 0 {
					p.file("CHANGELOG.md", words(400))
				}
			}
		}
	}
}
