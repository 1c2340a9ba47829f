package serde

import "github.com/pgweft/pgweft/serde/ordered"

// langgraphTypes is the Python module of the types below.
const langgraphTypes = "langgraph.types"

// Send is langgraph.types.Send: run a node with a state of its own.
type Send struct {
	Node string
	Arg  any
	// Timeout bounds this task; nil is the node's own policy.
	Timeout *TimeoutPolicy
}

// TimeoutPolicy is langgraph.types.TimeoutPolicy: how long an attempt to run a
// node may take.
type TimeoutPolicy struct {
	// RunTimeout is the longest an attempt may take, in seconds; 0 is no bound.
	RunTimeout float64
	// IdleTimeout is the longest it may go without progress, in seconds; 0 is no
	// bound.
	IdleTimeout float64
	// RefreshOn says what counts as progress: "auto", which "" means too, or
	// "heartbeat".
	RefreshOn string
}

// Interrupt is langgraph.types.Interrupt: a node asks for something from
// outside.
type Interrupt struct {
	Value any
	// ID identifies the interrupt, to answer it.
	ID string
	// ResponseSchema is the JSON schema of the answer; nil where there is none.
	ResponseSchema any

	// short: written by langgraph before 1.2, which had no response schema.
	short bool
}

// Overwrite is langgraph.types.Overwrite: a write that replaces a channel's
// value instead of going through its reducer.
type Overwrite struct {
	Value any

	// short: written before the class had its discriminator field.
	short bool
}

// DeltaSnapshot is the full value of a delta channel, which otherwise stores
// only writes.
type DeltaSnapshot struct{ Value any }

const (
	refreshAuto   = "auto"
	overwriteType = "__overwrite__"
)

func (e *encoder) send(s Send) error {
	args := []any{s.Node, s.Arg}
	if s.Timeout != nil {
		args = append(args, *s.Timeout)
	}
	return e.constructor(KindArgs, langgraphTypes, "Send", args, "")
}

func readSend(c constructor) (any, bool) {
	args, ok := c.payload.([]any)
	if c.kind != KindArgs || !ok || len(args) < 2 || len(args) > 3 {
		return nil, false
	}
	node, ok := args[0].(string)
	send := Send{Node: node, Arg: args[1]}
	if len(args) == 3 {
		timeout, isPolicy := args[2].(TimeoutPolicy)
		send.Timeout = &timeout
		ok = ok && isPolicy
	}
	return send, ok
}

func (p TimeoutPolicy) fields() *ordered.Map {
	refreshOn := p.RefreshOn
	if refreshOn == "" {
		refreshOn = refreshAuto
	}
	return ordered.New().
		Set("run_timeout", optionalSeconds(p.RunTimeout)).
		Set("idle_timeout", optionalSeconds(p.IdleTimeout)).
		Set("refresh_on", refreshOn)
}

func optionalSeconds(seconds float64) any {
	if seconds == 0 {
		return nil
	}
	return seconds
}

func readTimeoutPolicy(c constructor) (any, bool) {
	values, ok := fieldsNamed(c, "run_timeout", "idle_timeout", "refresh_on")
	if !ok {
		return nil, false
	}
	run, hasRun := secondsOf(values[0])
	idle, hasIdle := secondsOf(values[1])
	refreshOn, hasRefresh := values[2].(string)
	policy := TimeoutPolicy{RunTimeout: run, IdleTimeout: idle, RefreshOn: refreshOn}
	return policy, hasRun && hasIdle && hasRefresh && refreshOn != ""
}

// secondsOf reads an optional number of seconds and reports whether it would be
// written back the same.
func secondsOf(value any) (float64, bool) {
	seconds, ok := value.(float64)
	return seconds, value == nil || ok && seconds != 0
}

// fieldsNamed returns the values of keyword arguments that are exactly these, in
// this order.
func fieldsNamed(c constructor, names ...string) ([]any, bool) {
	kwargs, ok := c.payload.(*ordered.Map)
	if c.kind != KindKwargs || !ok || kwargs.Len() != len(names) {
		return nil, false
	}
	values := make([]any, len(names))
	for i, entry := range kwargs.Entries() {
		if entry.Key != any(names[i]) { //nolint:gosec // G602: there are as many entries as names
			return nil, false
		}
		values[i] = entry.Value
	}
	return values, true
}

func (i Interrupt) fields() *ordered.Map {
	fields := ordered.New().Set("value", i.Value).Set("id", i.ID)
	if !i.short {
		fields.Set("response_schema", i.ResponseSchema)
	}
	return fields
}

func readInterrupt(c constructor) (any, bool) {
	if values, ok := fieldsNamed(c, "value", "id"); ok {
		id, ok := values[1].(string)
		return Interrupt{Value: values[0], ID: id, short: true}, ok
	}
	values, ok := fieldsNamed(c, "value", "id", "response_schema")
	if !ok {
		return nil, false
	}
	id, ok := values[1].(string)
	return Interrupt{Value: values[0], ID: id, ResponseSchema: values[2]}, ok
}

func (o Overwrite) fields() *ordered.Map {
	fields := ordered.New().Set("value", o.Value)
	if !o.short {
		fields.Set("type", overwriteType)
	}
	return fields
}

func readOverwrite(c constructor) (any, bool) {
	if values, ok := fieldsNamed(c, "value"); ok {
		return Overwrite{Value: values[0], short: true}, true
	}
	values, ok := fieldsNamed(c, "value", "type")
	if !ok || values[1] != any(overwriteType) {
		return nil, false
	}
	return Overwrite{Value: values[0]}, true
}

func (e *encoder) deltaSnapshot(s DeltaSnapshot) error {
	start, err := e.beginExt()
	if err != nil {
		return err
	}
	if err := e.value(s.Value); err != nil {
		return err
	}
	return e.endExt(start, kindDelta)
}

func (d *decoder) deltaSnapshot() (any, error) {
	if d.pos == d.end {
		return nil, nil
	}
	value, err := d.value()
	if err != nil || d.pos != d.end {
		return nil, err
	}
	return DeltaSnapshot{value}, nil
}
