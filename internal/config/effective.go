package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/checksum"
)

// Setting is one effective setting as a run stores it: a digest of its value, so that no secret is stored, and its
// source.
type Setting struct {
	Sum  string `json:"sum"`            // hex SHA-256 of its JSON, cut to 16 digits
	Text string `json:"text,omitempty"` // the value, for people; "" if it may contain a secret
	From string `json:"from"`
}

// immaterial lists the sections and keys that do not affect a resumed run: notifications, and settings of other
// commands.
func immaterial() []string { return []string{"notify", "training", "feedback", "run.keep_evidence"} }

// private lists the last parts of keys whose values may contain a secret.
func private() []string { return []string{"env", "settings", "base_url", "command", "sandbox_command"} }

// Effective lists the settings that differ from the defaults, by dotted key, except those that do not affect a run.
func (l *Loaded) Effective() map[string]Setting {
	now, built := values(l.Config), values(Default())
	for key, v := range now {
		if name, ok := v.(string); ok {
			now[key] = tierName(key, name)
		}
	}
	out := map[string]Setting{}
	for key, v := range now {
		if _, ok := built[key]; !ok && reflect.ValueOf(v).IsZero() {
			continue // an unset key of an agent
		}
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		if was, err := json.Marshal(built[key]); err == nil && string(was) == string(text) {
			continue
		}
		if slices.ContainsFunc(immaterial(), func(i string) bool { return key == i || strings.HasPrefix(key, i+".") }) {
			continue
		}
		s := Setting{Sum: sumOf(text), From: l.Source(key)}
		if !slices.ContainsFunc(private(),
			func(p string) bool { return strings.HasSuffix(key, "."+p) || strings.Contains(key, ".env.") }) && len(text) <= 200 {
			s.Text = string(text)
		}
		out[key] = s
	}
	return out
}

func sumOf(text []byte) string {
	return checksum.SHA256(text)[:16]
}

// tierName returns the present name of a tier in a tier setting, and the unchanged value of any other setting.
func tierName(key, value string) string {
	old := map[string]string{"haiku": "small", "sonnet": "medium", "opus": "large"}
	if tier, ok := old[value]; ok && strings.HasPrefix(key, "routing.model_") {
		return tier
	}
	return value
}

// withTierNames replaces the tier names of older runs by the present names.
func withTierNames(then map[string]Setting) map[string]Setting {
	out := maps.Clone(then)
	for key, s := range out {
		var value string
		if json.Unmarshal([]byte(s.Text), &value) != nil || tierName(key, value) == value {
			continue
		}
		text, err := json.Marshal(tierName(key, value))
		if err == nil {
			out[key] = Setting{Sum: sumOf(text), Text: string(text), From: s.From}
		}
	}
	return out
}

// values lists the values of a configuration by dotted key. Lists are values; tables with user-chosen names have a
// key each.
func values(c Config) map[string]any {
	out := map[string]any{}
	each(reflect.ValueOf(c), "", func(key string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Map:
			for _, k := range v.MapKeys() {
				out[key+"."+k.String()] = v.MapIndex(k).Interface()
			}
		case reflect.Pointer, reflect.Slice:
			if !v.IsNil() && (v.Kind() == reflect.Pointer || v.Len() > 0) {
				out[key] = v.Interface()
			}
		default:
			out[key] = v.Interface()
		}
	})
	return out
}

// Change is a setting whose value has changed.
type Change struct {
	Key      string
	Old, New *Setting // nil for the built-in value
}

// Changes compares the settings of a run with the present ones, by key.
func Changes(then, now map[string]Setting) []Change {
	then = withTierNames(then)
	keys := maps.Clone(then)
	if keys == nil {
		keys = map[string]Setting{}
	}
	maps.Copy(keys, now)
	var out []Change
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		old, had := then[k]
		is, has := now[k]
		if had && has && old.Sum == is.Sum || !has && agentGone(k, now) {
			continue
		}
		c := Change{Key: k}
		if had {
			c.Old = &old
		}
		if has {
			c.New = &is
		}
		out = append(out, c)
	}
	return out
}

// agentGone reports whether a key belongs to an agent that is no longer configured. Such an agent does nothing; a run
// that needs it reports that.
func agentGone(key string, now map[string]Setting) bool {
	rest, ok := strings.CutPrefix(key, "agents.")
	name, _, _ := strings.Cut(rest, ".")
	return ok && !slices.ContainsFunc(slices.Collect(maps.Keys(now)),
		func(k string) bool { return strings.HasPrefix(k, "agents."+name+".") })
}

// DigestOf names a set of settings.
func DigestOf(s map[string]Setting) string {
	sum := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(sum, "%d:%s%s\n", len(k), k, s[k].Sum)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
