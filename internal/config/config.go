// Package config reads runplan's settings: built-in defaults, then the user's file, then the project's file, then the
// environment. The caller applies the command line.
//
// An unknown key is an error with its place and the most similar key. Each value records its source, for
// "runplan config".
package config

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/pelletier/go-toml/v2"
	"github.com/runplan/runplan/internal/phrase"
)

// Loaded is a configuration with its history.
type Loaded struct {
	Config
	Sources map[string]string // dotted key → "default", a file, or a variable
	Digest  string            // hex SHA-256 over the files that were read
	Files   []string          // files that were read, user's first
	lines   map[string]map[string]int
}

// Load reads the existing ones of the given files, where later files override earlier ones, and then the environment.
func Load(files []string, getenv func(string) (string, bool)) (*Loaded, error) {
	return LoadWith(files, getenv, "", nil)
}

// LoadWith is [Load] with a new text of one of the files, which is not written yet.
func LoadWith(files []string, getenv func(string) (string, bool), changed string, with []byte) (*Loaded, error) {
	l := &Loaded{Config: Default(), Sources: map[string]string{}}
	sum := sha256.New()
	for _, f := range files {
		data, err := with, error(nil)
		if changed == "" || f != changed {
			data, err = os.ReadFile(f)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		text := bytes.TrimPrefix(data, []byte("\ufeff")) // Windows editors put it there
		set, err := keysIn(f, text)
		if err != nil {
			return nil, err
		}
		l.came(f, text, set)
		if err := l.checkDurations(f, set); err != nil {
			return nil, err
		}
		if err := decode(f, text, &l.Config); err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%d\n", len(data))
		sum.Write(data)
		l.Files = append(l.Files, f)
	}
	l.Digest = hex.EncodeToString(sum.Sum(nil))
	if err := l.fromEnv(getenv); err != nil {
		return nil, err
	}
	return l, l.validate()
}

// decode reads a file into a [Config] or a map.
func decode(file string, data []byte, to any) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(to)
	var strict *toml.StrictMissingError
	var de *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		e := strict.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf("%s:%d: %w", file, line, unknown("key", strings.Join(e.Key(), ".")))
	case errors.As(err, &de):
		line, col := de.Position()
		if key := strings.Join(de.Key(), "."); strings.Contains(de.Error(), "cannot decode TOML ") {
			if n := linesOf(data)[key]; n != line { // the library has no place for an element of a list
				line, col = n, 1
			}
			if want := takes(reflect.TypeFor[Config](), de.Key()); want != "" {
				return fmt.Errorf("%s:%d:%d: %s takes %s, but is set to %s", file, line, col, key, want, given(data, de.Key()))
			}
		}
		return fmt.Errorf("%s:%d:%d: %s", file, line, col, de.Error())
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// unknown returns the error about a key that is no setting, with the most similar one.
func unknown(what, key string) error {
	if near := Nearest(key, Keys()); near != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, key, near)
	}
	return fmt.Errorf("unknown %s %q", what, key)
}

// checkDurations refuses durations without a unit: a bare number would mean nanoseconds.
func (l *Loaded) checkDurations(file string, set map[string]any) error {
	var bad []string
	check := func(at, key string, v any, t reflect.Type) {
		if _, ok := v.(string); !ok {
			bad = append(bad, fmt.Sprintf("%s: %s is %v, which is not %s", at, key, v, takes(t, nil)))
		}
	}
	for key, v := range flatten(reflect.ValueOf(&Config{}).Elem()) {
		t := v.Type()
		if given, ok := set[key]; ok && (t == reflect.TypeFor[Duration]() || t == reflect.TypeFor[TimeShare]()) {
			check(l.Where(key), key, given, t)
		}
	}
	gates, _ := set["gates.command"].([]any)
	for _, g := range gates {
		table, _ := g.(map[string]any)
		if t, ok := table["timeout"]; ok {
			check(file, "gates.command.timeout", t, reflect.TypeFor[Duration]())
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New(slices.Min(bad))
}

// keysIn returns the dotted keys that a file sets, with their values. A table without keys counts.
func keysIn(file string, data []byte) (map[string]any, error) {
	var m map[string]any
	if err := decode(file, data, &m); err != nil {
		return nil, err
	}
	out := map[string]any{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		if sub, ok := v.(map[string]any); ok && len(sub) > 0 {
			for k, v := range sub {
				walk(prefix+"."+k, v)
			}
			return
		}
		out[prefix] = v
	}
	for k, v := range m {
		walk(k, v)
	}
	return out, nil
}

// fromEnv takes each scalar setting from its variable, see [EnvName].
func (l *Loaded) fromEnv(getenv func(string) (string, bool)) error {
	for key, v := range flatten(reflect.ValueOf(&l.Config).Elem()) {
		text, ok := getenv(EnvName(key))
		if !ok || text == "" {
			continue
		}
		if err := set(v, text); err != nil {
			return fmt.Errorf("%s=%s: %w", EnvName(key), text, err)
		}
		l.Sources[key] = EnvName(key)
	}
	if text, ok := getenv(teamsVariable); ok && text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%s=%s: neither 1 nor 0", teamsVariable, text)
		}
		l.Team.Enabled, l.Sources["team.enabled"] = on, teamsVariable
	}
	return nil
}

// teamsVariable also turns team mode on, because other tools for teams of agents use such a variable (C-47).
const teamsVariable = "RUNPLAN_AGENT_TEAMS"

// EnvName returns the variable that sets a key: RUNPLAN_GATES_TIMEOUT for gates.timeout. Keys of [run] omit their
// section: RUNPLAN_AGENT.
func EnvName(key string) string {
	key = strings.TrimPrefix(key, "run.")
	return "RUNPLAN_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func set(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("neither true nor false")
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("not a number")
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("not a number")
		}
		v.SetFloat(x)
	}
	return nil
}

// badFile returns why the file for the context block is not a valid path of a workspace, or "".
func (c Context) badFile() string {
	p := path.Clean(strings.ReplaceAll(c.File, `\`, "/"))
	first, _, _ := strings.Cut(p, "/")
	switch {
	case c.File == "":
		return ""
	case path.IsAbs(p) || filepath.IsAbs(c.File) || first == "..":
		return "it is outside of the workspace; name a file in it, such as AGENTS.md"
	case strings.EqualFold(first, ".git"):
		return "it belongs to git; name a file of the workspace, such as AGENTS.md"
	case p == "." || strings.HasSuffix(c.File, "/"):
		return "it is a folder; name a file of the workspace, such as AGENTS.md"
	}
	return ""
}

// flatten returns the scalar settings by dotted key, without those below names of the user's choice.
func flatten(v reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	each(v, "", func(key string, v reflect.Value) {
		switch v.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
			if v.CanSet() { // the values of a map cannot
				out[key] = v
			}
		}
	})
	return out
}

// each calls f for each setting of a table and its tables, by dotted key.
func each(v reflect.Value, prefix string, f func(key string, v reflect.Value)) {
	for i := range v.NumField() {
		field, key := v.Field(i), prefix+v.Type().Field(i).Tag.Get("toml")
		switch e := field.Type(); {
		case e.Kind() == reflect.Struct:
			each(field, key+".", f)
		case e.Kind() == reflect.Map && e.Elem().Kind() == reflect.Struct:
			for _, name := range field.MapKeys() {
				each(field.MapIndex(name), key+"."+name.String()+".", f)
			}
		default:
			f(key, field)
		}
	}
}

// checks collects what is wrong with the settings.
type checks struct {
	*Loaded
	errs []error
}

// at adds an error, after the place of a key.
func (l *checks) at(key, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("%s: "+format, append([]any{l.Where(key)}, args...)...))
}

// say adds an error, after the place and the name of a key.
func (l *checks) say(key, format string, args ...any) {
	l.at(key, "%s "+format, append([]any{key}, args...)...)
}

// below returns a function that adds errors about the keys of a table.
func (l *checks) below(table string) func(format string, args ...any) {
	return func(format string, args ...any) { l.at(table, "%s."+format, append([]any{table}, args...)...) }
}

func (l *checks) oneOf(key, v string, of ...string) {
	if !slices.Contains(of, v) {
		l.say(key, "is %q; use %s or %s", v, strings.Join(of[:len(of)-1], ", "), of[len(of)-1])
	}
}

func (l *Loaded) validate() error {
	c := &checks{Loaded: l}
	c.checkSettings()
	return errors.Join(c.errs...)
}

// between checks a number.
func (l *checks) between(key string, v, least, most float64) {
	if !(v >= least && v <= most) { // NaN is neither
		plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
		l.say(key, "is %s; it must be %s to %s", plain(v), plain(least), plain(most))
	}
}

func (l *checks) checkSettings() {
	atLeast := func(key string, v, least float64, why string) {
		if v < least {
			l.say(key, "is %v; %s", v, why)
		}
	}
	l.oneOf("run.land", l.Run.Land, "branch", "ff", "pr")
	l.oneOf("run.unknown_cost", l.Run.UnknownCost, "stop", "allow")
	l.oneOf("run.on_limit", l.Run.OnLimit, OnLimits()...)
	l.checkFallback()
	atLeast("run.max_attempts", float64(l.Run.MaxAttempts), 1, "it must be at least 1")
	atLeast("run.min_free_mb", float64(l.Run.MinFreeMB), 0, "0 has no effect")
	atLeast("run.max_cost_usd", l.Run.MaxCostUSD, 0, "0 is no limit")
	atLeast("run.max_attempt_cost_usd", l.Run.MaxAttemptUSD, 0, "0 is no limit")
	atLeast("run.max_attempt_tokens", float64(l.Run.MaxTokens), 0, "0 is no limit")
	atLeast("run.max_repeats", float64(l.Run.MaxRepeats), 0, "0 is no limit")
	atLeast("gates.max_file_lines", float64(l.Gates.MaxFileLines), 0, "0 is no limit")
	atLeast("gates.min_memory_mb", float64(l.Gates.MinMemoryMB), 0, "0 does not check")
	l.oneOf("gates.tests.changed", l.Gates.Tests.Changed, "warn", "approve", "fail")
	l.between("sampling.hold_out", float64(l.Sampling.HoldOut), 0, 100)
	l.between("gates.mutants.bar", float64(l.Gates.Mutants.Bar), 0, 100)
	globs := func(key string, list []string) {
		for _, glob := range list {
			if !doublestar.ValidatePattern(glob) {
				l.say(key, "has %q, which is not a glob", glob)
			}
		}
	}
	globs("gates.protected", l.Gates.Protected)
	globs("gates.strict_types", l.Gates.StrictTypes)
	globs("workspace.copy", l.Workspace.Copy)
	l.oneOf("gates.plan.severity", l.Gates.Plan.Severity, "error", "warning", "off")
	l.oneOf("routing.mode", l.Routing.Mode, "auto", "headless", "team")
	l.between("routing.parallel_score_threshold", float64(l.Routing.ParallelScoreThreshold), 0, 100)
	l.between("routing.speculate_max_overlap", float64(l.Routing.SpeculateMaxOverlap), 0, 100)
	l.between("routing.worker_mem_threshold_gb", l.Routing.WorkerMemThresholdGB, 0.1, 1024)
	l.between("routing.max_workers", float64(l.Routing.MaxWorkers), 1, 256)
	if l.Context.Tokens != 0 {
		l.between("context.tokens", float64(l.Context.Tokens), 100, 1e6)
	}
	l.between("context.similarity", l.Context.Similarity, 0, 1)
	l.between("context.ref_lines", float64(l.Context.RefLines), 0, 1e6)
	l.between("context.ref_lines_least", float64(l.Context.RefLinesLeast), 0, 1e6)
	l.between("context.commits", float64(l.Context.Commits), 0, 1e6)
	l.between("context.progress_lines", float64(l.Context.ProgressLines), 0, 1e6)
	if why := l.Context.badFile(); why != "" {
		l.say("context.file", "is %q; %s", l.Context.File, why)
	}
	l.between("sampling.sample_max_count", float64(l.Sampling.MaxCount), 1, 16)
	l.between("sampling.sample_count", float64(l.Sampling.Count), 1, float64(l.Sampling.MaxCount))
	l.between("sampling.learn_after", float64(l.Sampling.LearnAfter), 0, 1e6)
	l.between("sampling.sample_min_memory_per_gb", l.Sampling.MinMemoryPerGB, 0, 1e6)
	l.between("sampling.close", l.Sampling.Close, 0, 1)
	l.between("stages.files", float64(l.Stages.Files), 1, 1000)
	l.between("stages.symbols", float64(l.Stages.Symbols), 1, 1000)
	l.between("gates.flaky_reruns", float64(l.Gates.FlakyReruns), 0, 10)
	l.between("critique.max_calls", float64(l.Critique.MaxCalls), 1, 1000)
	l.between("critique.queue", float64(l.Critique.Queue), 1, 1000)
	for _, name := range slices.Sorted(maps.Keys(l.Agents)) {
		l.checkAgent(name)
		l.checkSandbox(name)
		for _, tier := range slices.Sorted(maps.Keys(l.Agents[name].Models)) {
			if strings.HasPrefix(strings.TrimSpace(l.Agents[name].Models[tier]), "-") {
				l.say("agents."+name+".models."+tier,
					"is %q; a model cannot begin with -: it would be an option of the agent's program",
					l.Agents[name].Models[tier])
			}
			if !slices.Contains([]string{"small", "medium", "large"}, tier) {
				l.at("agents."+name, "agents.%s.models has the unknown tier %q; tiers are small, medium and large", name, tier)
			}
		}
	}
	l.checkNotify()
	l.checkModels()
	l.checkReview()
	l.checkCritique()
	l.checkTraining()
	for i, g := range l.Gates.Plugin {
		if g.Name == "" || g.Path == "" && len(g.Command) == 0 {
			l.at("gates.plugin", "gate %d under [[gates.plugin]] needs a name, and a path or a command", i+1)
		}
	}
	seen := map[string]bool{}
	for i, g := range l.Gates.Command {
		if g.Name == "" || g.Run == "" {
			l.at("gates.command", "gate %d under [[gates.command]] needs both name and run", i+1)
		}
		if seen[g.Name] {
			l.at("gates.command", "two gates have the name %q", g.Name)
		}
		seen[g.Name] = true
	}
}

// Presets returns the names that agents.NAME.preset may have.
func Presets() []string {
	return []string{"claude", "codex", "gemini", "opencode", "aider", "goose", "crush", "qwen", "pi"}
}

// Permissions returns the words that agents.NAME.permission may have.
func Permissions() []string { return []string{"workspace", "ask", "full"} }

// checkAgent checks one agent: it needs a command to start, and known values.
func (l *checks) checkAgent(name string) {
	a, say := l.Agents[name], l.below("agents."+name)
	switch {
	case a.Preset != "" && !slices.Contains(Presets(), a.Preset):
		say("preset is %q; use one of %s", a.Preset, strings.Join(Presets(), ", "))
	case a.Preset == "" && len(a.Command) == 0:
		l.say("agents."+name, "has no command; write command = [\"program\", \"argument\"], or preset = \"claude\" or "+
			"another supported CLI")
	case a.Permission != "" && !slices.Contains(Permissions(), a.Permission):
		say("permission is %q; use workspace, ask or full", a.Permission)
	case a.Permission != "" && a.Preset == "":
		say("permission needs a preset; for a command, set permissions in its arguments")
	}
}

// Source returns the origin of a key's value; for a table, the last file that sets something in it.
func (l *Loaded) Source(key string) string {
	if s, ok := l.Sources[key]; ok {
		return s
	}
	source, at := "default", -1
	for k, s := range l.Sources {
		if i := slices.Index(l.Files, s); i > at && strings.HasPrefix(k, key+".") {
			source, at = s, i
		}
	}
	return source
}

// Value is one setting, for people.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
	Env    string `json:"env"`
}

// Values lists all settings with their sources, by key. It shows only the names of an agent's variables.
func (l *Loaded) Values() []Value {
	var out []Value
	simple := flatten(reflect.ValueOf(&l.Config).Elem())
	for key, v := range simple {
		text := textOf(key, v)
		if key == "notify.webhook" && text != "" {
			text = HostOf(text) // some contain a key
		}
		out = append(out, Value{key, text, l.Source(key), EnvName(key)})
	}
	list := func(key, text string) { out = append(out, Value{Key: key, Value: text, Source: l.Source(key)}) }
	each(reflect.ValueOf(l.Config), "", func(key string, v reflect.Value) {
		tables := v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct
		if _, known := simple[key]; known || tables {
			return
		}
		if text := textOf(key, v); text != "" || !strings.HasPrefix(key, "agents.") {
			list(key, text)
		}
	})
	list("gates.severity", phrase.Join(l.Gates.Severity, "; ", func(s Severity) string { return s.Severity + ": " + s.When }))
	for _, g := range l.Gates.Command {
		out = append(out, Value{Key: "gates.command." + g.Name, Value: g.Run, Source: l.Source("gates.command")})
	}
	for _, g := range l.Gates.Plugin {
		list("gates.plugin."+g.Name, strings.TrimSpace(strings.Join(append(slices.Clone(g.Command), g.Path), " ")))
		out[len(out)-1].Source = l.Source("gates.plugin")
	}
	slices.SortStableFunc(out, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// textOf formats a value for people. Of variables only the names are shown, and of canaries, which are secrets, their
// number.
func textOf(key string, v reflect.Value) string {
	name := key[strings.LastIndexByte(key, '.')+1:]
	switch list := v.Interface().(type) {
	case encoding.TextMarshaler:
		text, _ := list.MarshalText()
		return strings.TrimSpace(string(text))
	case *int:
		if list == nil {
			return ""
		}
		return fmt.Sprint(*list)
	case []int:
		return phrase.Join(list, ", ", strconv.Itoa)
	case []string:
		switch {
		case name == "canaries" && len(list) > 0:
			return fmt.Sprintf("%d texts", len(list))
		case slices.Contains([]string{"command", "sandbox_command", "sandbox_write", "trainer"}, name):
			return strings.Join(list, " ")
		}
		return strings.Join(list, ", ")
	case map[string]string:
		between, entry := ", ", func(k string) string { return k + ": " + list[k] }
		switch name {
		case "env":
			entry = func(k string) string { return k }
		case "when":
			between = "; "
		}
		return phrase.Join(slices.Sorted(maps.Keys(list)), between, entry)
	}
	return fmt.Sprint(v.Interface())
}

// Keys lists all keys that a file may set, with * for a user-chosen name.
func Keys() []string {
	var out []string
	eachKey(reflect.TypeFor[Config](), "", func(key string, _ reflect.StructField, _ bool) {
		out = append(out, strings.NewReplacer("[", "", "] ", ".", "NAME", "*").Replace(key))
	})
	return out
}

// eachKey calls f for each key of a table and its tables. NAME in a key stands for a name of the user's choice; [KEY]
// stands for each table of a list. tables reports that the value only holds further keys.
func eachKey(t reflect.Type, prefix string, f func(key string, field reflect.StructField, tables bool)) {
	for i := range t.NumField() {
		field := t.Field(i)
		key, e := prefix+field.Tag.Get("toml"), field.Type
		switch {
		case e.Kind() == reflect.Struct:
			f(key, field, true)
			eachKey(e, key+".", f)
		case e.Kind() == reflect.Map && e.Elem().Kind() == reflect.Struct:
			f(key, field, true)
			eachKey(e.Elem(), key+".NAME.", f)
		default:
			f(key, field, false)
			if e.Kind() == reflect.Slice && e.Elem().Kind() == reflect.Struct {
				eachKey(e.Elem(), "["+key+"] ", f)
			}
		}
	}
}

// UserFile returns the path of the user's settings: in $RUNPLAN_HOME, else in the system's folder for configuration.
func UserFile(getenv func(string) (string, bool)) (string, error) {
	if home, ok := getenv("RUNPLAN_HOME"); ok && home != "" {
		return filepath.Join(home, "config.toml"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the user's configuration: %w; set RUNPLAN_HOME", err)
	}
	return filepath.Join(dir, "runplan", "config.toml"), nil
}

// Key is one setting that can be set.
type Key struct {
	Key string `json:"key"`
	Doc string `json:"doc"`

	table bool // of values under names of the user's choice
}

// Describe lists all settings in the order of the file.
func Describe() []Key {
	var out []Key
	eachKey(reflect.TypeFor[Config](), "", func(key string, f reflect.StructField, tables bool) {
		if !tables {
			out = append(out, Key{key, f.Tag.Get("doc"), f.Type.Kind() == reflect.Map})
		}
	})
	return out
}
