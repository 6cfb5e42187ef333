package summary

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/knowledge/outline"
)

func verb(word string) string {
	switch up := strings.ToUpper(word); up {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		if word == up || word == strings.ToLower(word) || word == up[:1]+strings.ToLower(up[1:]) {
			return up
		}
	}
	return ""
}

// text returns the contents of a string literal, or false for another expression.
func text(arg string) (string, bool) {
	arg = strings.TrimLeft(arg, "rufRUF")
	if len(arg) < 2 || !strings.ContainsRune("'\"`", rune(arg[0])) || arg[len(arg)-1] != arg[0] {
		return "", false
	}
	return strings.Trim(arg, arg[:1]), true
}

// member splits a dotted name at its last dot. The owner of a plain name is "".
func member(name string) (owner, last string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// keyword returns the value of a named argument.
func keyword(args []string, names ...string) (string, bool) {
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if ok && slices.Contains(names, strings.TrimSpace(key)) {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

var (
	prefixArg  = lazyre.New(`\b(?:prefix|url_prefix)\s*[=:]\s*["'` + "`" + `]([^"'` + "`" + `]*)`)
	wordInList = lazyre.New(`["'](\w+)["']`)
	routerName = lazyre.New(`(?i)(?:router|app|server|api|fastify|routes?|mux|blueprint|group|bp|r|e|g)$`)
	routerMade = lazyre.New(`(?:Router|express|[Ff]astify|Hono|Koa|FastAPI|Flask|Blueprint|Sanic|Starlette|NewServeMux|NewRouter|gin\.\w+|echo\.New)\(`)
	anyParam   = lazyre.New(`<(?:\w+:)?(\w+)>|:(\w+)|\{(\w+)(?::[^}]*|\.\.\.)?\}`)
)

// NormalPath writes path parameters in one form: {name}.
func NormalPath(p string) string {
	p = anyParam.ReplaceAllString(p, "{${1}${2}${3}}")
	if len(p) > 1 {
		p = strings.TrimSuffix(p, "/")
	}
	return p
}

// Join puts a path under a prefix.
func Join(prefix, p string) string {
	joined := strings.TrimSuffix(prefix, "/") + "/" + strings.TrimPrefix(p, "/")
	if !strings.HasPrefix(joined, "/") {
		joined = "/" + joined
	}
	if joined != "/" && (p == "" || p == "/") {
		joined = strings.TrimSuffix(joined, "/")
	}
	return joined
}

// prefixOf returns the common prefix of a router's routes, if the file itself sets one.
func (m *maker) prefixOf(router string) string {
	for i, s := range m.o.Symbols {
		if s.Kind == outline.Variable && s.Parent < 0 && s.Name == router {
			if found := prefixArg.FindStringSubmatch(m.values[i].Text); found != nil {
				return found[1]
			}
		}
	}
	return ""
}

// routes reports whether a name is that of a router.
func (m *maker) routes(name string) bool {
	for i, s := range m.o.Symbols {
		if s.Kind == outline.Variable && s.Parent < 0 && s.Name == name && routerMade.MatchString(m.values[i].Text) {
			return true
		}
	}
	_, last := member(name)
	return routerName.MatchString(last) && !strings.Contains(strings.ToLower(name), "client")
}

func (m *maker) endpoints() {
	controllers := map[int]string{} // class → prefix
	for _, c := range m.d.Calls {
		if c.Decorator && c.Symbol >= 0 && strings.HasSuffix(c.Name, "Controller") {
			prefix := ""
			if len(c.Args) > 0 {
				prefix, _ = text(c.Args[0])
			}
			controllers[c.Symbol] = prefix
		}
	}
	for _, c := range m.d.Calls {
		owner, what := member(c.Name)
		switch {
		case c.Decorator:
			m.decorated(c, owner, what, controllers)
		case m.l == outline.Python:
			if prefix, ok := keyword(c.Args, "prefix", "url_prefix"); ok &&
				(what == "include_router" || what == "register_blueprint") {
				m.mount(prefix)
			}
		default:
			m.registered(c, owner, what)
		}
	}
}

func (m *maker) mount(arg string) {
	if p, ok := text(arg); ok && p != "" && !slices.Contains(m.s.Mounts, p) {
		m.s.Mounts = append(m.s.Mounts, p)
	}
}

func (m *maker) add(c outline.CallSite, method, path, handler string) {
	m.s.Endpoints = append(m.s.Endpoints, Endpoint{Method: method, Path: path, Handler: handler, Line: c.Line})
}

// decorated reads @router.get("/path"), and @Get(":id") of a controller.
func (m *maker) decorated(c outline.CallSite, owner, what string, controllers map[int]string) {
	handler := m.name(c.Symbol)
	path, given := "", false
	if len(c.Args) > 0 {
		path, given = text(c.Args[0])
	}
	if p, ok := keyword(c.Args, "path", "rule"); ok && !given {
		path, given = text(p)
	}
	if owner == "" { // a method decorator
		if c.Symbol < 0 || verb(what) == "" || what[0] < 'A' || what[0] > 'Z' {
			return
		}
		if prefix, ok := controllers[m.o.Symbols[c.Symbol].Parent]; ok {
			m.add(c, verb(what), Join("/"+strings.Trim(prefix, "/"), path), handler)
		}
		return
	}
	if !given || path != "" && !strings.HasPrefix(path, "/") {
		return
	}
	path = m.prefixOf(owner) + path
	switch {
	case verb(what) != "":
		m.add(c, verb(what), path, handler)
	case what == "websocket" || what == "websocket_route":
		m.add(c, "WEBSOCKET", path, handler)
	case what == "route" || what == "api_route":
		methods, ok := keyword(c.Args, "methods")
		if !ok {
			m.add(c, "GET", path, handler)
		}
		for _, w := range wordInList.FindAllStringSubmatch(methods, -1) {
			m.add(c, strings.ToUpper(w[1]), path, handler)
		}
	}
}

// registered reads app.get("/path", f), mux.HandleFunc("GET /path", f) and similar calls.
func (m *maker) registered(c outline.CallSite, owner, what string) {
	if len(c.Args) < 1 {
		return
	}
	path, ok := text(c.Args[0])
	if !ok {
		return
	}
	if (what == "use" || what == "register" || what == "Mount" || what == "Route" || what == "Group" ||
		what == "StripPrefix") && strings.HasPrefix(path, "/") {
		m.mount(c.Args[0])
		return
	}
	if len(c.Args) < 2 || owner == "" {
		return
	}
	handler := c.Args[len(c.Args)-1]
	if strings.ContainsAny(handler, "{\n") || strings.HasPrefix(handler, "(") || strings.HasPrefix(handler, "func") {
		handler = "inline"
	}
	handler = short(handler, 60)
	switch {
	case what == "HandleFunc" || what == "Handle":
		method, rest, has := strings.Cut(path, " ")
		if has {
			m.add(c, method, rest, handler)
			return
		}
		methods := []string{"ANY"}
		for _, o := range m.d.Calls { // HandleFunc("/x", f).Methods("GET")
			if o.From == c.From && o.To > c.To && strings.HasSuffix(o.Name, ".Methods") {
				methods = nil
				for _, a := range o.Args {
					if w, ok := text(a); ok {
						methods = append(methods, w)
					} else {
						methods = append(methods, strings.ToUpper(strings.TrimPrefix(a, "http.Method")))
					}
				}
			}
		}
		for _, method := range methods {
			m.add(c, method, path, handler)
		}
	case verb(what) != "" && strings.HasPrefix(path, "/") && m.routes(owner):
		m.add(c, verb(what), m.prefixOf(owner)+path, handler)
	}
}

func (m *maker) handlers() {
	registered := map[int]string{} // functions that a decorator registers as error handlers
	for _, c := range m.d.Calls {
		if c.Decorator && len(c.Args) > 0 &&
			(strings.HasSuffix(c.Name, ".exception_handler") || strings.HasSuffix(c.Name, ".errorhandler")) {
			registered[c.Symbol] = c.Args[0]
		}
	}
	for _, h := range m.d.Handlers {
		if t, ok := registered[h.Symbol]; ok && len(h.Types) == 0 && h.Symbol >= 0 {
			h.Types = []string{t}
		}
		m.s.ErrorHandlers = append(m.s.ErrorHandlers,
			Handler{Function: m.name(h.Symbol), Types: h.Types, Guard: short(h.Guard, mostValue), Status: h.Status,
				Line: h.Line})
	}
}

// raw returns the names of HTTP libraries.
func raw(l outline.Language) []string {
	switch l {
	case outline.Python:
		return []string{"httpx", "requests", "aiohttp", "urllib.request", "urllib3", "http.client"}
	case outline.Go:
		return []string{"http"}
	}
	return []string{"fetch", "axios", "got", "ky", "superagent", "undici", "http", "https"}
}

var (
	notACall   = lazyre.New(`(?:Error|Exception|Timeout|Limits|Auth|Config|Headers|URL|Request|Response|isAxiosError|isCancel)$`)
	methodPart = lazyre.New(`\bmethod\s*:\s*["'` + "`" + `](\w+)`)
)

func (m *maker) calls() {
	for _, c := range m.d.Calls {
		if c.Decorator || c.Name == "" {
			continue
		}
		call, ok := m.call(c)
		if !ok {
			continue
		}
		call.Function, call.Via, call.Line = m.name(c.Symbol), c.Name, c.Line
		m.s.HTTPCalls = append(m.s.HTTPCalls, call)
	}
}

// call reads one call that may leave the unit.
func (m *maker) call(c outline.CallSite) (Call, bool) {
	owner, what := member(c.Name)
	if m.library(c.Name) {
		return m.http(c, owner, what)
	}
	if owner == "" {
		if !m.fromClients(what) || notACall.MatchString(what) || what[0] >= 'A' && what[0] <= 'Z' && m.l != outline.Go {
			return Call{}, false // a class of a client is called when its methods are
		}
		return Call{Method: what, Target: what, Kind: Client}, true
	}
	if t := m.holds(c.Symbol, owner); t != "" {
		if m.library(t) {
			return m.http(c, owner, what)
		}
		if m.isClientType(t) {
			return Call{Method: what, Target: clientName(t), Kind: Client}, true
		}
	}
	parts := strings.Split(owner, ".")
	if slices.ContainsFunc(m.Clients, func(client string) bool {
		return slices.ContainsFunc(parts,
			func(p string) bool { return alike(p, client[strings.LastIndexAny(client, "./")+1:]) })
	}) {
		return Call{Method: what, Target: parts[len(parts)-1], Kind: Client}, true
	}
	last := strings.ToLower(parts[len(parts)-1])
	if !strings.Contains(last, "client") && !(last == "session" || last == "http") {
		return Call{}, false
	}
	if verb(what) != "" || what == "request" || what == "stream" || what == "Do" || what == "PostForm" {
		return m.http(c, owner, what)
	}
	if strings.Contains(last, "client") && last != "client" && last != "_client" {
		return Call{Method: what, Target: parts[len(parts)-1], Kind: Client}, true
	}
	return Call{}, false
}

// library reports whether a name belongs to an HTTP library.
func (m *maker) library(name string) bool {
	return slices.ContainsFunc(raw(m.l), func(l string) bool {
		return strings.HasPrefix(name+".", l+".") && (l != "http" && l != "https" || m.imported(l))
	})
}

func (m *maker) imported(name string) bool {
	return slices.ContainsFunc(m.o.Imports, func(i outline.Import) bool {
		return i.Alias == name || i.Path == "net/http" && i.Alias == "" && name == "http" || i.Path == name ||
			i.Path == "node:"+name
	})
}

// http reads the method and target of an HTTP call.
func (m *maker) http(c outline.CallSite, owner, what string) (Call, bool) {
	call := Call{Kind: HTTP}
	arg := func(i int) string {
		if i < len(c.Args) {
			return short(c.Args[i], mostValue)
		}
		return ""
	}
	if m.l == outline.Go {
		switch what {
		case "Get", "Head", "Post", "PostForm":
			call.Method, call.Target = strings.ToUpper(strings.TrimSuffix(what, "Form")), arg(0)
		case "NewRequest", "NewRequestWithContext":
			at := strings.Count(what, "With")
			call.Method, call.Target = strings.ToUpper(strings.TrimPrefix(unquoted(arg(at)), "http.Method")), arg(at+1)
		case "Do":
			call.Method, call.Target = "request", arg(0)
		default:
			return call, false
		}
		call.Target = unquoted(call.Target)
		return call, true
	}
	if notACall.MatchString(what) {
		return call, false
	}
	call.Method, call.Target = verb(what), arg(0)
	switch {
	case call.Method != "":
	case what == "request" || what == "stream":
		if m.l == outline.Python {
			call.Method, call.Target = strings.ToUpper(unquoted(arg(0))), arg(1)
		} else {
			call.Method = "request"
		}
	case what == "fetch" || owner == "" && m.library(what):
		call.Method = "GET"
		if len(c.Args) > 1 {
			if found := methodPart.FindStringSubmatch(c.Args[1]); found != nil {
				call.Method = strings.ToUpper(found[1])
			}
		}
	case what == "Client" || what == "AsyncClient" || what == "Session" || what == "ClientSession" || what == "create" ||
		what == "urlopen":
		call.Method = what
		if what != "urlopen" {
			call.Target = ""
			if base, ok := keyword(c.Args, "base_url"); ok {
				call.Target = base
			}
		}
	default:
		return call, false
	}
	if url, ok := keyword(c.Args, "url"); ok {
		call.Target = url
	}
	call.Target = unquoted(call.Target)
	return call, true
}

func unquoted(s string) string {
	if t, ok := text(s); ok {
		return t
	}
	return s
}

// alike compares names regardless of spelling: billing_client equals BillingClient.
func alike(a, b string) bool {
	bare := func(s string) string { return strings.ToLower(strings.ReplaceAll(strings.Trim(s, "_"), "_", "")) }
	return bare(a) == bare(b) && bare(a) != ""
}
