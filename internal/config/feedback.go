package config

// Feedback configures how runplan makes fixes from the feedback of its owner.
type Feedback struct {
	Base        string `toml:"base" doc:"integration branch for fixes, never the default branch; empty uses the branch that is checked out"`
	Remote      string `toml:"remote" doc:"remote for branches of fixes; empty uses origin, or the first remote"`
	Agent       string `toml:"agent" doc:"agent that makes fixes; empty uses run.agent"`
	OnExhausted bool   `toml:"on_exhausted" doc:"create a feedback for each batch that failed its last attempt"`
}
