// Program site renders docs as a static site: pages in light and dark, with a search that needs no network, and
// llms.txt for models. A dead link is an error.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const source = "https://github.com/runplan/runplan/blob/main/"

var (
	//go:embed style.css
	style string
	//go:embed search.js
	search string
)

// section is a part of the site with its pages, by their file names without .md.
type section struct {
	Title string
	Names []string
	Pages []*page
}

// sections returns the parts of the site. A page of docs that no other part names belongs to the last one.
func sections() []section {
	return []section{
		{Title: "Tutorial", Names: []string{"tutorial"}},
		{Title: "Guides", Names: []string{"agents", "gates", "team-mode", "sampling", "review", "solve", "models", "context",
			"trust", "feedback", "serve",
			"notifications", "sandbox", "plugins", "testscripts", "blueprints", "critique", "retrieval", "training", "temporal",
			"trace", "releases"}},
		{Title: "Reference", Names: []string{"cli", "plan-format", "rules", "glossary", "requirements", "packages"}},
		{Title: "Explanation", Names: []string{"ARCHITECTURE", "machine", "security", "compare", "bench"}},
	}
}

// page is a document of the site.
type page struct {
	Name, Title, Description string
	source                   []byte
	tree                     ast.Node
	anchors                  map[string]bool
}

func main() {
	from := flag.String("from", "docs", "`folder` with the documents")
	out := flag.String("out", "dist/site", "`folder` to write")
	flag.Parse()
	if err := build(*from, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// markdown returns the parser of the documents, with the anchors of headings as GitHub makes them.
func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

func build(from, out string) error {
	md := markdown()
	parts, pages, err := load(md, from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var wrong []error
	for _, p := range pages {
		wrong = append(wrong, relink(p, pages, from)...)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	var index [][3]string
	largest := 0
	for _, p := range pages {
		html, err := render(md, p, parts)
		if err != nil {
			return err
		}
		largest = max(largest, len(html))
		if err := os.WriteFile(filepath.Join(out, p.Name+".html"), html, 0o644); err != nil {
			return err
		}
		index = append(index, entries(p)...)
	}
	list, err := json.Marshal(index)
	if err != nil {
		return err
	}
	first, err := os.ReadFile(filepath.Join(out, "tutorial.html"))
	if err != nil {
		return err
	}
	indexed := "window.searchIndex = " + string(list) + ";\n"
	for name, text := range map[string]string{"style.css": style, "search.js": search, "index.js": indexed,
		"llms.txt": llms(parts), "index.html": string(first)} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := pictures(from, out); err != nil {
		return err
	}
	fmt.Printf(
		"%s: %d pages; a page is at most %.0f kB in 4 requests with %.0f kB of style, search and index; no dead link\n",
		out, len(pages), float64(largest)/1e3, float64(len(style)+len(search)+len(indexed))/1e3)
	return nil
}

// load reads all documents of a folder.
func load(md goldmark.Markdown, from string) ([]section, []*page, error) {
	files, err := filepath.Glob(filepath.Join(from, "*.md"))
	if err != nil {
		return nil, nil, err
	}
	parts := sections()
	var pages []*page
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		p := &page{Name: strings.TrimSuffix(filepath.Base(file), ".md"), source: src, anchors: map[string]bool{}}
		p.tree = md.Parser().Parse(text.NewReader(src))
		_ = ast.Walk(p.tree, func(n ast.Node, in bool) (ast.WalkStatus, error) {
			if h, ok := n.(*ast.Heading); ok && in {
				if id, ok := h.AttributeString("id"); ok {
					p.anchors[string(id.([]byte))] = true
				}
				if h.Level == 1 && p.Title == "" {
					p.Title = plain(h, src)
				}
			}
			if n.Kind() == ast.KindParagraph && in && p.Description == "" && n.Parent().Kind() == ast.KindDocument {
				p.Description = plain(n, src)
			}
			return ast.WalkContinue, nil
		})
		pages = append(pages, p)
		i := slices.IndexFunc(parts, func(s section) bool { return slices.Contains(s.Names, p.Name) })
		if i < 0 {
			i = len(parts) - 1
		}
		parts[i].Pages = append(parts[i].Pages, p)
	}
	for _, s := range parts {
		slices.SortStableFunc(s.Pages,
			func(a, b *page) int { return slices.Index(s.Names, a.Name) - slices.Index(s.Names, b.Name) })
	}
	return parts, pages, nil
}

// plain returns the text of a node without markup.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && in {
			b.Write(t.Segment.Value(src))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// relink leads links to documents to their pages, and links to other files of the repository to its site. It returns
// the dead links.
func relink(p *page, pages []*page, from string) (wrong []error) {
	_ = ast.Walk(p.tree, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !in || strings.Contains(string(link.Destination), "://") ||
			strings.HasPrefix(string(link.Destination), "mailto:") {
			return ast.WalkContinue, nil
		}
		file, anchor, _ := strings.Cut(string(link.Destination), "#")
		bad := func() { wrong = append(wrong, fmt.Errorf("%s.md: dead link %s", p.Name, link.Destination)) }
		to := p
		if file != "" {
			i := slices.IndexFunc(pages, func(p *page) bool { return p.Name+".md" == file })
			if i < 0 {
				if _, err := os.Stat(filepath.Join(from, filepath.FromSlash(file))); err != nil {
					bad()
				}
				link.Destination = []byte(source + path.Join("docs", file))
				return ast.WalkContinue, nil
			}
			to = pages[i]
		}
		if anchor != "" && !to.anchors[anchor] {
			bad()
			return ast.WalkContinue, nil
		}
		if file != "" && plain(link, p.source) == file { // a file name means nothing on the site
			link.RemoveChildren(link)
			link.AppendChild(link, ast.NewString([]byte(to.Title)))
		}
		link.Destination = []byte(to.Name + ".html")
		if anchor != "" {
			link.Destination = append(link.Destination, "#"+anchor...)
		}
		return ast.WalkContinue, nil
	})
	return wrong
}

var layout = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{{.Page.Title}} · runplan</title>
<meta name="description" content="{{.Page.Description}}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script src="index.js" defer></script>
<script src="search.js" defer></script>
</head>
<body>
<nav aria-label="pages">
<a class="skip" href="#content">Skip to the content</a>
<label for="search">Search</label>
<input id="search" type="search" autocomplete="off">
<ul id="found" aria-live="polite"></ul>
<details id="pages" open>
<summary>Pages</summary>
{{range .Parts}}<h2>{{.Title}}</h2>
<ul>
{{range .Pages}}<li><a href="{{.Name}}.html"{{if eq .Name $.Page.Name}} aria-current="page"{{end}}>{{.Title}}</a></li>
{{end}}</ul>
{{end}}</details>
</nav>
<main id="content">
{{.Body}}</main>
</body>
</html>
`))

// reachable lets the keyboard scroll wide elements.
var reachable = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`)

// mermaid matches a picture that GitHub draws from its text. The site runs no program that could draw it.
var mermaid = regexp.MustCompile(`(?s)<pre><code class="language-mermaid">.*?</code></pre>`)

func render(md goldmark.Markdown, p *page, parts []section) ([]byte, error) {
	var body, b bytes.Buffer
	if err := md.Renderer().Render(&body, p.source, p.tree); err != nil {
		return nil, err
	}
	link := fmt.Sprintf(`<p><a href="%sdocs/%s.md">The picture, on GitHub</a></p>`, source, p.Name)
	content := template.HTML(reachable.Replace(mermaid.ReplaceAllString(body.String(), link)))
	err := layout.Execute(&b, map[string]any{"Page": p, "Parts": parts, "Body": content})
	return b.Bytes(), err
}

var space = regexp.MustCompile(`\s+`)

// entries returns the search entries of a page: one entry for each heading, with the words below it.
func entries(p *page) [][3]string {
	all := [][3]string{{p.Name + ".html", p.Title, ""}}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level > 1 {
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			all = append(all, [3]string{p.Name + ".html#" + string(anchor), p.Title + ": " + plain(h, p.source), ""})
			continue
		}
		last := &all[len(all)-1]
		last[2] += strings.ToLower(space.ReplaceAllString(plain(n, p.source), " ")) + " "
	}
	return all
}

// llms lists the pages for programs that read: https://llmstxt.org.
func llms(parts []section) string {
	var b strings.Builder
	b.WriteString(
		"# runplan\n\n> runplan carries out markdown implementation plans with coding agents: gated, merged, recorded.\n")
	for _, s := range parts {
		fmt.Fprintf(&b, "\n## %s\n\n", s.Title)
		for _, p := range s.Pages {
			fmt.Fprintf(&b, "- [%s](%sdocs/%s.md): %s\n", p.Title, source, p.Name, p.Description)
		}
	}
	return b.String()
}

// pictures copies the pictures of the documents.
func pictures(from, out string) error {
	for _, pattern := range []string{"*.svg", "screenshots/*.png"} {
		files, err := filepath.Glob(filepath.Join(from, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			to := filepath.Join(out, strings.TrimPrefix(file, from))
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644)); err != nil {
				return err
			}
		}
	}
	return nil
}
