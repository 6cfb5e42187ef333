module github.com/runplan/runplan/examples/gate-plugin-go

go 1.26.0

require github.com/runplan/runplan/sdk v0.0.0

require (
	connectrpc.com/connect v1.21.1 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/runplan/runplan/sdk => ../../sdk
