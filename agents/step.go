package agents

// Step is one call of a tool, as the agent's own program tells of it while it works.
type Step struct {
	Tool  string // as the program calls it: Edit, write_file, shell
	Text  string // what of its arguments tells most, on one line
	Input string // its arguments as JSON; long ones are cut, and closed so that they can be read
	Cut   bool   // Input is not all of it
}

// StepObserver is an [Observer] that is told of steps as well. Of a program that tells of none it hears none. Step must
// not keep the agent waiting.
type StepObserver interface {
	Observer
	Step(s Step)
}
