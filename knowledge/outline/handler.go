package outline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/patterns"
)

// statusForms match the ways in which code names an HTTP status. The first matching group is the number or the name.
var statusForms = []*lazyre.Regexp{
	lazyre.New(`(?:status_code|statusCode|status|code)["']?\s*[=:]\s*(?:[\w.]*HTTP_|[\w.]*HttpStatus\.|[\w.]*HTTPStatus\.)?(\d{3}|[A-Za-z_]+)(?:\b|_)`),
	lazyre.New(`(?:HTTPException|HTTPError|HttpException|HttpError|abort|sendStatus|writeHead|\.status|\.code|createError)\(\s*(?:[\w.]*HTTP_|[\w.]*HttpStatus\.|[\w.]*HTTPStatus\.)?(\d{3}|[A-Za-z_]+)(?:\b|_)`),
	lazyre.New(`HttpException\([^()]*?,\s*(?:HttpStatus\.)?(\d{3}|[A-Z_]+)\b`),
	lazyre.New(`(?m)^\s*return\b[^\n]*,\s*(?:HTTPStatus\.)?(\d{3}|[A-Z_]+)\)?\s*$`),
	lazyre.New(`\bnew\s+(\w+)Exception\(`),
}

// statusOf returns the HTTP status of a number or of a status name in code, or 0.
func statusOf(word string) int {
	if n, err := strconv.Atoi(word); err == nil {
		if n >= 100 && n <= 599 {
			return n
		}
		return 0
	}
	return statusNames[strings.ToLower(strings.ReplaceAll(word, "_", ""))]
}

// statusNames holds the statuses of errors by their names in code, in lower case and without underscores.
var statusNames = map[string]int{"badrequest": 400, "unauthorized": 401, "forbidden": 403, "notfound": 404,
	"methodnotallowed": 405, "notacceptable": 406, "requesttimeout": 408, "conflict": 409, "gone": 410,
	"preconditionfailed": 412, "requestentitytoolarge": 413, "payloadtoolarge": 413, "unsupportedmediatype": 415,
	"unprocessableentity": 422, "unprocessablecontent": 422, "toomanyrequests": 429, "internalservererror": 500,
	"notimplemented": 501, "badgateway": 502, "serviceunavailable": 503, "gatewaytimeout": 504}

// statuses returns the HTTP statuses that a source responds with, in order and without duplicates.
func statuses(source string) []int {
	var out []int
	for _, form := range statusForms {
		for _, m := range form.FindAllStringSubmatch(source, -1) {
			if n := statusOf(m[1]); n >= 400 && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

var (
	exceptHead = lazyre.New(`(?s)^except\*?\s*(.*?)\s*$`)
	exceptName = lazyre.New(`^(.*?)\s+as\s+\w+$`)
	instanceOf = lazyre.New(`\binstanceof\s+([\w$.]+)`)
	errorCode  = lazyre.New(`\.(?:name|code)\s*===?\s*['"]([\w.]+)['"]`)
)

// handlers returns the places that handle failures, in order.
func (r *reader) handlers(l Language, calls []CallSite) []Handler {
	of := func(rule string) []patterns.Node {
		return lists.Filter(r.nodes, func(n patterns.Node) bool { return n.Rule == rule })
	}
	caught, guards, leaves := of("handler"), of("guard"), of("leave")
	out := lists.Map(caught, func(n patterns.Node) Handler { return r.caught(l, n, caught) })
	if l != Python {
		for _, c := range calls {
			if strings.HasSuffix(c.Name, ".catch") {
				source := r.blank(c.From, c.To)
				if i := strings.LastIndex(source, ".catch"); i >= 0 {
					source = source[i:]
				}
				out = append(out, Handler{Symbol: c.Symbol, Types: scriptTypes(source), Status: statuses(source),
					Line: r.at.of(c.To - 1)})
			}
		}
	}
	inside := func(list []patterns.Node, at int) bool {
		return slices.ContainsFunc(list, func(n patterns.Node) bool { return n.Start <= at && at < n.End })
	}
	for _, n := range leaves {
		if inside(caught, n.Start) {
			continue
		}
		status := statuses(r.blank(n.Start, n.End))
		if len(status) == 0 || slices.ContainsFunc(leaves,
			func(o patterns.Node) bool { return o.Start > n.Start && o.End <= n.End }) {
			continue // a call that takes a function contains other calls
		}
		h := Handler{Symbol: around(r.all, n.Start), Status: status, Line: r.at.of(n.Start)}
		for _, g := range guards { // the innermost guard is the last one that begins before it
			if g.Start < n.Start && n.Start < g.To {
				h.Guard = oneLine(strings.Trim(r.source(g.Start, g.End), "()"))
				if strings.Count(h.Guard, "(") != strings.Count(h.Guard, ")") {
					h.Guard = oneLine(r.source(g.Start, g.End))
				}
			}
		}
		out = append(out, h)
	}
	slices.SortStableFunc(out, func(a, b Handler) int { return a.Line - b.Line })
	return out
}

// caught reads one catch clause, without nested ones.
func (r *reader) caught(l Language, n patterns.Node, all []patterns.Node) Handler {
	h := Handler{Symbol: around(r.all, n.Start), Line: r.at.of(n.Start)}
	source := []byte(r.blank(n.Start, n.End))
	for _, o := range all {
		if o.Start > n.Start && o.End <= n.End {
			language.Blank(source, o.Start-n.Start, o.End-n.Start)
		}
	}
	body := string(source)
	h.Status = statuses(body)
	if l != Python {
		h.Types = scriptTypes(body)
		return h
	}
	head := r.source(n.Start, max(n.Start, min(r.colon(n.Start), n.End)))
	if m := exceptHead.FindStringSubmatch(head); m != nil {
		types := m[1]
		if as := exceptName.FindStringSubmatch(types); as != nil {
			types = as[1]
		}
		for part := range strings.SplitSeq(strings.Trim(types, "() "), ",") {
			if name := dotted(part); name != "" {
				h.Types = append(h.Types, name)
			}
		}
	}
	return h
}

// scriptTypes returns the error types that a catch clause distinguishes.
func scriptTypes(body string) []string {
	var out []string
	for _, re := range []*lazyre.Regexp{instanceOf, errorCode} {
		for _, m := range re.FindAllStringSubmatch(body, -1) {
			out = lists.Add(out, m[1])
		}
	}
	return out
}

// blank returns a piece of source without its comments.
func (r *reader) blank(from, to int) string {
	out := slices.Clone(r.text[from:to])
	for _, n := range r.nodes {
		if n.Rule == "comment" && n.Start >= from && n.End <= to {
			language.Blank(out, n.Start-from, n.End-from)
		}
	}
	return string(out)
}
