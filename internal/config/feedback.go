package config

// Feedback configures how runplan corrects itself by the feedback of its owner.
type Feedback struct {
	Base        string `toml:"base" doc:"integration branch that fixes are made for, never the default branch; empty is the branch that is checked out"`
	Remote      string `toml:"remote" doc:"remote that branches of fixes are pushed to; empty is origin, or the first there is"`
	Agent       string `toml:"agent" doc:"agent that carries fixes out; empty is run.agent"`
	OnExhausted bool   `toml:"on_exhausted" doc:"a batch that failed at its last attempt becomes a feedback by itself"`
}
