package chat
import ("context";"time";"github.com/runplan/runplan/training")
type Jinja struct{}
func LoadJinja(string, func() time.Time) (*Jinja, error) { return nil, nil }
func (*Jinja) Begins() string { return "" }
func (*Jinja) Name() string { return "" }
func (*Jinja) Pair(context.Context, []training.Message, string) (Pair, error) { return Pair{}, nil }
