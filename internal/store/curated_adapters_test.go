package store

import (
	"path/filepath"
	"testing"
	"time"
)

// TRAIN-28: each stage has only one active adapter, also after another one was active.
func TestStageHasOneActiveAdapter(t *testing.T) {
	c, err := OpenCurated(t.Context(), filepath.Join(t.TempDir(), "curated.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	code := func(n int, tag string) Adapter {
		return Adapter{Stage: "execute_code", BaseModel: "coding", Tag: tag, Version: n}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	active := func(want string) {
		t.Helper()
		got, found, err := c.AdapterForStage(t.Context(), "execute_code")
		do(err)
		if found != (want != "") || got.Tag != want {
			t.Errorf("active is %q (%v), want %q", got.Tag, found, want)
		}
		all, err := c.Adapters(t.Context())
		do(err)
		for _, a := range all {
			if a.Stage == "execute_code" && a.Active != (a.Tag == want) {
				t.Errorf("%s: active %v, and the active one is %q", a.Tag, a.Active, want)
			}
		}
	}
	do(c.ActivateAdapter(t.Context(), Adapter{Stage: "scope", BaseModel: "reasoning", Tag: "b-scope-v1", Version: 1}, at))
	do(c.ActivateAdapter(t.Context(), code(1, "b-code-v1"), at))
	active("b-code-v1")
	do(c.ActivateAdapter(t.Context(), code(2, "b-code-v2"), at))
	active("b-code-v2")
	do(c.ActivateAdapter(t.Context(), code(1, "b-code-v1"), at.Add(time.Hour)))
	active("b-code-v1")
	do(c.ForgetAdapter(t.Context(), "execute_code", "b-code-v1")) // the active one stays
	do(c.ForgetAdapter(t.Context(), "execute_code", "b-code-v2"))
	active("b-code-v1")
	do(c.DeactivateAdapters(t.Context(), "execute_code"))
	active("")
	all, err := c.Adapters(t.Context())
	if do(err); len(all) != 2 || all[0].Tag != "b-code-v1" || !all[1].Active || all[1].Stage != "scope" {
		t.Errorf("%+v", all)
	}
	for _, a := range []Adapter{{}, code(0, "x"), code(1, " "),
		{Stage: "scope", BaseModel: "vision", Tag: "x", Version: 1}} {
		if err := c.ActivateAdapter(t.Context(), a, at); err == nil {
			t.Errorf("%+v was made active", a)
		}
	}
}
