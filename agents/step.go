package agents

// Step is one tool call, as reported by the agent's program.
type Step struct {
	Tool  string // as the program calls it: Edit, write_file, shell
	Text  string // what of its arguments tells most, on one line
	Input string // its arguments as JSON; long ones are cut, and closed so that they can be read
	Cut   bool   // Input is not all of it
}

// StepObserver is an [Observer] that also gets steps, from programs that report them. Step must not block the
// agent.
type StepObserver interface {
	Observer
	Step(s Step)
}
