package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// noUpkeep returns the settings that turn off git's automatic maintenance. It would run in the background, where
// nothing waits for it. If it is killed, it leaves a lock in the user's repository that blocks all later maintenance.
func noUpkeep() [][2]string {
	return [][2]string{{"maintenance.auto", "false"}, {"gc.auto", "0"}, {"gc.autoDetach", "false"},
		{"maintenance.autoDetach", "false"}}
}

// NoUpkeep returns env with settings that turn off automatic maintenance. They override those in env.
func NoUpkeep(env []string) []string { return with(env, noUpkeep()) }

// with returns env with settings for git that override those in env.
func with(env []string, settings [][2]string) []string {
	last := map[string]string{}
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "GIT_CONFIG_") {
			last[name] = value
		}
	}
	count := 0
	if text, ok := last["GIT_CONFIG_COUNT"]; ok && text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return env // git refuses to run with it, and reports the reason
		}
		count = n
	}
	is := map[string]string{} // by key, as git has it
	for i := range count {
		is[strings.ToLower(last[fmt.Sprintf("GIT_CONFIG_KEY_%d", i)])] = last[fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)]
	}
	var add []string
	for _, s := range settings {
		if value, ok := is[strings.ToLower(s[0])]; !ok || value != s[1] {
			add = append(add, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, s[0]),
				fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, s[1]))
			count++
		}
	}
	if len(add) == 0 {
		return env
	}
	out := make([]string, 0, len(env)+len(add)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_CONFIG_COUNT=") {
			out = append(out, kv)
		}
	}
	return append(append(out, add...), fmt.Sprintf("GIT_CONFIG_COUNT=%d", count))
}

// UpkeepLock returns the path of the file that exists during background maintenance.
func (r *Repo) UpkeepLock() string { return filepath.Join(r.Common, "objects", "maintenance.lock") }

// HasUpkeepLock reports whether git maintenance runs in the background now, or was killed while it ran.
func (r *Repo) HasUpkeepLock() bool { _, err := os.Lstat(r.UpkeepLock()); return err == nil }
