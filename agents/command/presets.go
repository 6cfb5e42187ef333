package command

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/tables"
)

// The permissions that presets know.
const (
	Workspace = "workspace" // minimum to write in its workspace
	Ask       = "ask"       // the CLI's own settings decide; requests for permission are refused
	Full      = "full"      // everything, including commands
)

// readStdin is the task argument for CLIs that add their standard input to it.
const readStdin = "Carry out the task that is given on standard input."

// Preset says how to run a CLI without a terminal: its arguments, environment and output format.
//
// Arguments may contain {brief} and {temp}: the brief's file, and a folder outside the workspace. {read_stdin} is a
// task for CLIs that add their standard input to it. Arguments with {model} are omitted if no model is set. Variables
// may contain {temp} too.
type Preset struct {
	Name    string
	Format  stream.Format
	Program string
	Args    []string
	Model   []string
	Last    []string // after all other arguments

	Permissions   map[string][]string          // arguments by permission; a missing permission is not supported
	PermissionEnv map[string]map[string]string `toml:"permission_env"` // variables by permission
	Env           map[string]string
	Files         map[string]string // files in {temp}, by name; "" is the embedded file of that name
	PassEnv       []string          `toml:"pass_env"` // user variables that the CLI needs to sign in; exact names
	Providers     bool              // it also gets the keys of all providers
	Models        map[string]string // tier → model, if the CLI has stable names
	// retries against a limit before runplan ends the CLI and waits itself; 0 sets no maximum
	Tries    int
	RootFull string `toml:"root_full"` // variable that must be 1 for Full as root; "" if not needed

	// State lists the paths where the CLI keeps its sign-in, sessions and caches. A sandbox must let it write there. A
	// name that begins with $ is a variable that holds a folder.
	State []string
	// Where a CLI with a fixed vendor sends its input: hosts, the variable that sets another address, and variables that
	// switch to another service.
	Hosts    string
	Address  string
	Services map[string]string

	Seen    string // last version whose output was checked; "" if only its documentation was read
	Install string // install command or address
}

//go:embed presets.toml
var presetTable string

// pi.mjs keeps pi's HTTP libraries from waiting silently for the time of a Retry-After header: pi itself retries a few
// times and reports each. Only this prints the header.
//
//go:embed pi.mjs
var data embed.FS

// Presets lists the supported CLIs, in order of preference.
func Presets() []Preset { return slices.Clone(presets()) }

var presets = sync.OnceValue(func() []Preset {
	var all struct {
		Providers []string
		Preset    []Preset
	}
	tables.Read(presetTable, &all)
	for i := range all.Preset {
		p := &all.Preset[i]
		if p.Providers {
			p.PassEnv = append(slices.Clone(all.Providers), p.PassEnv...)
		}
		for name, text := range p.Files {
			if file, err := data.ReadFile(name); err == nil && text == "" {
				p.Files[name] = string(file)
			}
		}
	}
	return all.Preset
})

// PresetOf returns the preset with a name.
func PresetOf(name string) (Preset, bool) {
	return lists.Find(Presets(), func(p Preset) bool { return p.Name == name })
}

// arguments returns the arguments of one call, without the program.
func (p *Preset) arguments(permission, model, brief, temp string) ([]string, error) {
	permission = cmp.Or(permission, Workspace)
	allow, ok := p.Permissions[permission]
	if !ok {
		have := strings.Join(slices.Sorted(maps.Keys(p.Permissions)), " or ")
		return nil, fmt.Errorf("%s has no permission %q; it has %s", p.Name, permission, have)
	}
	if strings.HasPrefix(model, "-") {
		return nil, fmt.Errorf("the model %q begins with -: it would be an option of %s", model, p.Name)
	}
	list := slices.Concat(p.Args, allow)
	if model != "" {
		list = slices.Concat(list, p.Model)
	}
	fill := strings.NewReplacer("{brief}", brief, "{temp}", temp, "{model}", model, "{read_stdin}", readStdin)
	return lists.Map(slices.Concat(list, p.Last), fill.Replace), nil
}

// environ returns the variables of the preset, as KEY=VALUE. temp is the folder of its files.
func (p *Preset) environ(permission, temp string) []string {
	permission = cmp.Or(permission, Workspace)
	out := slices.Concat(proc.Pairs(p.Env), proc.Pairs(p.PermissionEnv[permission]))
	return lists.Map(out, func(kv string) string { return strings.ReplaceAll(kv, "{temp}", temp) })
}

// asRoot returns an error with advice if the CLI would refuse to run as root with this permission.
func (p *Preset) asRoot(agent, permission string, env []string) error {
	if p.RootFull == "" || permission != Full || os.Geteuid() != 0 {
		return nil
	}
	if slices.Contains(env, p.RootFull+"=1") {
		return nil
	}
	return fmt.Errorf("permission \"full\" is refused as root: %s could change anything on this machine; in a "+
		"disposable container, set  [agents.%s.env] %s = \"1\"", p.Name, agent, p.RootFull)
}

// Reach says where an agent sends its input.
type Reach struct {
	To    string // hosts, or a description if the host is unknown
	Local *bool  // whether that is this machine; nil if unknown
}

// byProvider describes a CLI that calls the provider of its model.
const byProvider = "the provider of its model"

// Reach returns where the agent sends its input, according to its settings. For programs without a preset that is
// unknown.
func (a *Agent) Reach() Reach {
	if a.cfg.Preset == nil || len(a.cfg.Command) > 0 {
		return Reach{To: "wherever " + first(a.cfg.Command) + " sends it"}
	}
	p := a.cfg.Preset
	env := a.seen(a.cfg.Environ, slices.Concat(a.cfg.PassEnv, p.PassEnv))
	for _, s := range slices.Sorted(maps.Keys(p.Services)) {
		if value := proc.Getenv(env, s); value != "" && value != "0" && !strings.EqualFold(value, "false") {
			return Reach{To: p.Services[s], Local: new(bool)}
		}
	}
	if p.Address != "" {
		if base := proc.Getenv(env, p.Address); base != "" {
			return address(p.Address, base)
		}
	}
	if p.Hosts != "" {
		return Reach{To: p.Hosts, Local: new(bool)}
	}
	return a.reachByModel(env)
}

// reachByModel returns the reach of a CLI with several providers. It is local only if each tier has a local model.
func (a *Agent) reachByModel(env []string) Reach {
	var models []string
	for _, tier := range []string{"small", "medium", "large"} {
		if m := a.ModelOf(tier); m != "" {
			models = append(models, m)
		}
	}
	local := len(models) == 3 && !slices.ContainsFunc(models, func(m string) bool { return !isLocal(a.format(), m, nil) })
	if !local {
		to := byProvider
		if len(models) > 0 {
			to += " (" + strings.Join(slices.Compact(models), ", ") + ")"
		}
		return Reach{To: to}
	}
	for _, name := range []string{"OLLAMA_API_BASE", "OLLAMA_HOST"} {
		if base := proc.Getenv(env, name); base != "" {
			return address(name, base)
		}
	}
	return Reach{To: "this machine (" + strings.Join(slices.Compact(models), ", ") + ")", Local: new(true)}
}

// address returns the reach for the value of a variable. A local address proves nothing: a proxy there may forward
// the data.
func address(name, base string) Reach {
	host := base
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		host = u.Hostname()
	} else {
		host, _, _ = strings.Cut(base, ":")
	}
	if config.Loopback(host) || host == "0.0.0.0" {
		return Reach{To: host + " (" + name + "); the program that listens there may forward it"}
	}
	return Reach{To: host + " (" + name + ")", Local: new(bool)}
}

func first(list []string) string { return cmp.Or(append(slices.Clone(list), "")[0], "it") }
