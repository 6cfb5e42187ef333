// Package selffix holds the command self-fix, which turns feedback about runplan into a draft change with a regression
// test. Package feedback decides what the next stage of a feedback is. This package gives it the models, the agent, the
// gates and the run of the plan, and lets the owner list, approve, deny and close what waits.
package selffix
