package serde_test

import (
	"encoding/json"
	"fmt"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

func Example() {
	typed, err := serde.Default().Dump([]any{
		messages.Human("Which thread comes next?", messages.WithID("1")),
		messages.AI("", messages.WithID("2"), messages.WithToolCalls(
			messages.ToolCall{Name: "loom", Args: ordered.New().Set("row", 7), ID: "call-1"})),
		messages.Tool("the red one", "call-1", messages.WithID("3")),
	})
	if err != nil {
		panic(err)
	}
	value, err := serde.Default().Load(typed)
	if err != nil {
		panic(err)
	}
	for _, item := range value.([]any) {
		switch m := item.(type) {
		case *messages.AIMessage:
			for _, call := range m.ToolCalls() {
				row, _ := call.Args.Get("row")
				fmt.Println(m.Role(), "calls", call.Name, "with row", row)
			}
		case messages.Message:
			fmt.Println(m.Role(), "says", m.Text())
		}
	}
	// Output:
	// human says Which thread comes next?
	// ai calls loom with row 7
	// tool says the red one
}

func ExamplePlain() {
	state := ordered.New().
		Set("seen", serde.Set{"warp"}).
		Set("pattern", &serde.Object{Module: "re", Name: "compile", Kind: serde.KindArgs, Args: []any{"we?ft", 32}})
	text, err := json.Marshal(serde.Plain(state))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
	// Output: {"pattern":{"args":["we?ft",32],"class":"re.compile"},"seen":["warp"]}
}

func ExampleRegisterIn() {
	// In Python: class Color(enum.Enum), in the module weaver.models.
	type Color string
	registry := serde.NewRegistry()
	err := serde.RegisterIn(registry, "weaver.models", "Color",
		func(o *serde.Object) (Color, bool) {
			if o.Kind != serde.KindArg {
				return "", false
			}
			name, ok := o.Args[0].(string)
			return Color(name), ok
		},
		func(c Color) (*serde.Object, error) {
			return &serde.Object{
				Module: "weaver.models", Name: "Color", Kind: serde.KindArg, Args: []any{string(c)},
			}, nil
		})
	if err != nil {
		panic(err)
	}
	s := serde.New(registry)
	typed, err := s.Dump(Color("red"))
	if err != nil {
		panic(err)
	}
	value, err := s.Load(typed)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%T %v\n", value, value)
	// Output: serde_test.Color red
}

func ExampleEncrypted() {
	cipher, err := serde.NewAES([]byte("a key of 16 byte"))
	if err != nil {
		panic(err)
	}
	s := serde.Encrypted(serde.Default(), cipher)
	typed, err := s.Dump("the pattern is secret")
	if err != nil {
		panic(err)
	}
	value, err := s.Load(typed)
	if err != nil {
		panic(err)
	}
	fmt.Println(typed.Type, serde.Encrypts(s), value)
	// Output: msgpack+aes true the pattern is secret
}
