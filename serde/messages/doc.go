// Package messages has LangChain's chat messages: reading what Python wrote,
// and making messages that Python reads.
//
// A message made here with the same arguments as in Python is written as the
// same bytes; a message read and written back unchanged is too, because all of
// its fields are kept, also those this package has no method for, in their
// order.
//
//	conversation := []any{
//		messages.System("You are a weaver."),
//		messages.Human("Which thread comes next?", messages.WithID("1")),
//		messages.AI("", messages.WithToolCalls(messages.ToolCall{Name: "loom", ID: "call-1"})),
//		messages.Tool("the red one", "call-1"),
//	}
//
// serde.Default knows these types; nothing needs to be registered.
package messages
