package blueprint

import "reflect"

// Interface is an entry point of a unit: a tagged union by type (BP-03). Exactly one of the pointers is set.
type Interface struct {
	Type InterfaceType

	HTTP    *HTTPRest   `type:"http_rest"`
	Socket  *WebSocket  `type:"websocket"`
	Stream  *SSE        `type:"sse"`
	Event   *Event      `type:"event"`
	Direct  *DirectCall `type:"direct_call"`
	MCP     *MCP        `type:"mcp"`
	GRPC    *GRPC       `type:"grpc"`
	CLI     *CLI        `type:"cli"`
	Library *Library    `type:"library"`
}

// InterfaceType is the tag of an [Interface].
type InterfaceType string

// The types that occur in drafts.
const (
	TypeHTTP    InterfaceType = "http_rest"
	TypeSocket  InterfaceType = "websocket"
	TypeLibrary InterfaceType = "library"
)

// HTTPRest is a set of endpoints.
type HTTPRest struct {
	Endpoints []Endpoint `yaml:"endpoints" json:"endpoints" need:"yes"`
	Note      string     `yaml:"note" json:"note,omitempty"`
}

// Endpoint is one method of one path.
type Endpoint struct {
	Method   string `yaml:"method" json:"method" need:"yes"`
	Path     string `yaml:"path" json:"path" need:"yes"`
	Request  string `yaml:"request" json:"request,omitempty"`   // name of a model
	Response string `yaml:"response" json:"response,omitempty"` // name of a model
	Errors   []int  `yaml:"errors" json:"errors,omitempty"`     // further statuses that it may answer
	Purpose  string `yaml:"purpose" json:"purpose,omitempty"`
}

// Name returns the endpoint in the form "GET /orders".
func (e Endpoint) Name() string { return e.Method + " " + e.Path }

// WebSocket is a socket with its messages.
type WebSocket struct {
	Path     string   `yaml:"path" json:"path" need:"yes"`
	Messages []string `yaml:"messages" json:"messages,omitempty"`
	Note     string   `yaml:"note" json:"note,omitempty"`
}

// SSE is a stream of events from the server.
type SSE struct {
	Path   string   `yaml:"path" json:"path" need:"yes"`
	Events []string `yaml:"events" json:"events,omitempty"`
	Note   string   `yaml:"note" json:"note,omitempty"`
}

// Event is a published or subscribed topic.
type Event struct {
	Topic     string `yaml:"topic" json:"topic" need:"yes"`
	Direction string `yaml:"direction" json:"direction" need:"yes"` // publish or subscribe
	Payload   string `yaml:"payload" json:"payload,omitempty"`
	Note      string `yaml:"note" json:"note,omitempty"`
}

// DirectCall is a set of functions for callers in the same process.
type DirectCall struct {
	Functions []string `yaml:"functions" json:"functions" need:"yes"`
	Note      string   `yaml:"note" json:"note,omitempty"`
}

// MCP is a set of tools for models.
type MCP struct {
	Tools []string `yaml:"tools" json:"tools" need:"yes"`
	Note  string   `yaml:"note" json:"note,omitempty"`
}

// GRPC is a service with its methods.
type GRPC struct {
	Service string   `yaml:"service" json:"service" need:"yes"`
	Methods []string `yaml:"methods" json:"methods" need:"yes"`
	Note    string   `yaml:"note" json:"note,omitempty"`
}

// CLI is a set of commands.
type CLI struct {
	Commands []string `yaml:"commands" json:"commands" need:"yes"`
	Note     string   `yaml:"note" json:"note,omitempty"`
}

// Library is a set of symbols for importers.
type Library struct {
	Symbols []string `yaml:"symbols" json:"symbols" need:"yes"`
	Note    string   `yaml:"note" json:"note,omitempty"`
}

// InterfaceTypes lists the types in the order of documents.
func InterfaceTypes() []InterfaceType {
	var out []InterfaceType
	for f := range reflect.TypeFor[Interface]().Fields() {
		if t := f.Tag.Get("type"); t != "" {
			out = append(out, InterfaceType(t))
		}
	}
	return out
}

// open creates the variant of a type; nil for an unknown type.
func (i *Interface) open(t InterfaceType) any {
	i.Type = t
	for f, v := range reflect.ValueOf(i).Elem().Fields() {
		if f.Tag.Get("type") == string(t) && t != "" {
			v.Set(reflect.New(f.Type.Elem()))
			return v.Interface()
		}
	}
	return nil
}

// Promises returns the names that the source must declare for an interface, and the noun for them in messages.
// Endpoints are checked separately.
func (i Interface) Promises() (what string, names []string) {
	switch {
	case i.Direct != nil:
		return "function", i.Direct.Functions
	case i.MCP != nil:
		return "tool", i.MCP.Tools
	case i.GRPC != nil:
		return "method", i.GRPC.Methods
	case i.CLI != nil:
		return "command", i.CLI.Commands
	case i.Library != nil:
		return "symbol", i.Library.Symbols
	case i.Event != nil:
		return "topic", []string{i.Event.Topic}
	}
	return "", nil
}
