module github.com/runplan/runplan/tools/pluginactor

go 1.26.0

require github.com/runplan/runplan/sdk v0.0.0

require (
	connectrpc.com/connect v1.21.1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/runplan/runplan/sdk => ../../sdk
