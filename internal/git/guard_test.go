package git

import (
	"reflect"
	"strings"
	"testing"
)

func TestNeutral(t *testing.T) {
	listing := func(lines ...string) string {
		var b strings.Builder
		for _, l := range lines {
			scope, rest, _ := strings.Cut(l, " ")
			key, value, _ := strings.Cut(rest, "=")
			b.WriteString(scope + "\x00" + key + "\n" + value + "\x00")
		}
		return b.String()
	}
	for name, tt := range map[string]struct {
		lines []string
		want  map[string]string
	}{
		"harmless": {[]string{"local core.bare=false", "local branch.main.merge=refs/heads/main",
			"local remote.o.url=x", "local user.name=a"}, map[string]string{}},
		"the user's own": {[]string{"global filter.lfs.clean=git-lfs clean -- %f", "system core.pager=less",
			"command core.editor=vi"}, map[string]string{}},
		"in the user's place": {[]string{"global filter.lfs.clean=git-lfs clean -- %f", "global filter.lfs.required=true",
			"local filter.lfs.clean=evil"},
			map[string]string{"filter.lfs.clean": "git-lfs clean -- %f"}},
		"a filter": {[]string{"local filter.A b.process=evil"},
			map[string]string{"filter.A b.process": "", "filter.A b.required": "false"}},
		"a worktree's": {[]string{"worktree diff.external=evil", "worktree diff.x.textconv=evil"},
			map[string]string{"diff.external": "", "diff.x.textconv": "cat"}},
		"unheard of": {[]string{"local new.thing.command=evil", "local hook.x.command=evil", "local alias.st=!evil",
			"local lfs.extension.x.clean=evil"},
			map[string]string{"new.thing.command": "", "hook.x.command": "", "alias.st": "", "lfs.extension.x.clean": ""}},
		"two at once": {[]string{"local credential.helper=a", "local credential.helper=b"},
			map[string]string{"credential.helper": ""}},
		"without value": {[]string{"local core.fsmonitor"}, map[string]string{"core.fsmonitor": "false"}},
		"nothing":       {nil, map[string]string{}},
	} {
		got := map[string]string{}
		for _, s := range neutral(listing(tt.lines...)) {
			got[s[0]] = s[1]
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// Settings come last in the environment, including empty ones: an empty filter runs nothing.
func TestEmptySettingsReachEnvironment(t *testing.T) {
	env := strings.Join(with([]string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"},
		[][2]string{{"x.y", ""}}), "\n")
	if want := "GIT_CONFIG_KEY_1=x.y\nGIT_CONFIG_VALUE_1=\nGIT_CONFIG_COUNT=2"; !strings.Contains(env, want) {
		t.Errorf("got %q, want %q in it", env, want)
	}
}

func FuzzNeutral(f *testing.F) {
	f.Add("local\x00filter.x.clean\nevil\x00")
	f.Add("local\x00.\x00global")
	f.Fuzz(func(_ *testing.T, text string) { neutral(text) })
}
