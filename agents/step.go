package agents

// Step is one tool call, as reported by the agent's program.
type Step struct {
	Tool  string // as the program calls it: Edit, write_file, shell
	Text  string // its most important argument, on one line
	Input string // its arguments as JSON; long ones are truncated, and their brackets closed
	Cut   bool   // Input is truncated
}

// StepObserver is an [Observer] that also gets steps, from programs that report them. Step must not block the
// agent.
type StepObserver interface {
	Observer
	Step(s Step)
}
