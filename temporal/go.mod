module github.com/runplan/runplan/temporal

go 1.26.0

require (
	github.com/runplan/runplan v0.0.0
	github.com/stretchr/testify v1.10.0
	go.temporal.io/api v1.63.5
	go.temporal.io/sdk v1.50.0
)

replace github.com/runplan/runplan => ../
