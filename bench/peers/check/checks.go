package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Each run has three operations, on threads of seven checkpoints: the newest has body 6, the middle one, by its place, body 3.
const (
	count       = 3
	checkpoints = 7
	limit       = 4
	writes      = 5
)

// operations are all that the protocol has.
var operations = []string{
	"put", "put_writes", "get", "get_by_id", "list", "delta_history", "delete_thread",
	"store_put", "store_get", "store_search", "store_batch",
}

// checks tallies what a peer answers.
type checks struct {
	peer           *peer
	name           string
	passed, failed int
}

// all is an error only where the peer cannot be asked any more.
func (c *checks) all(database, payloads string) error {
	hello, err := c.peer.ask(request{"do": "hello", "database": database, "payloads": payloads})
	if err != nil {
		return err
	}
	if !hello.OK {
		return fmt.Errorf("the peer cannot start: %s", hello.Error)
	}
	if hello.Name == "" || hello.Runtime == "" || len(hello.Operations) == 0 || len(hello.Modes) == 0 {
		return fmt.Errorf("the peer does not say what it is: %+v", hello)
	}
	fmt.Printf("%s: %s on %s, modes %s, operations %s\n", c.name, hello.Name, hello.Runtime,
		strings.Join(hello.Modes, " "), strings.Join(hello.Operations, " "))
	for _, payload := range []string{"small", "20k"} {
		if err := c.payload(hello, payload); err != nil {
			return err
		}
	}
	return c.refusals(hello)
}

func (c *checks) payload(hello answer, payload string) error {
	if err := c.fill(request{"thread": "filled-" + payload, "payload": payload}); err != nil {
		return err
	}
	hasDeltas := payload != "small" && slices.Contains(hello.Operations, "delta_history")
	if hasDeltas {
		if err := c.fill(request{"thread": "deltas-" + payload, "payload": payload, "delta": true}); err != nil {
			return err
		}
	}
	for _, mode := range hello.Modes {
		for _, connections := range []int{1, 8} {
			if err := c.runs(hello.Operations, payload, mode, connections, hasDeltas); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checks) runs(offered []string, payload, mode string, connections int, hasDeltas bool) error {
	for _, operation := range offered {
		if operation == "delta_history" {
			continue
		}
		if err := c.run(operation, "filled-"+payload, payload, mode, connections, sample(operation, payload)); err != nil {
			return err
		}
	}
	if !hasDeltas {
		return nil
	}
	// The value of the newest one's parent is the seed where every checkpoint stores all values.
	err := c.run("delta_history", "filled-"+payload, payload, mode, connections, "0:"+digest(payload, checkpoints-2))
	return errors.Join(err,
		c.run("delta_history", "deltas-"+payload, payload, mode, connections, deltaDigest(payload, checkpoints-1)))
}

// sample is what the operation has to have read, or to have written.
func sample(operation, payload string) string {
	switch operation {
	case "put", "store_put", "store_get":
		return digest(payload, count-1)
	case "put_writes":
		return writesDigest(payload, writes)
	case "get":
		return digest(payload, checkpoints-1)
	case "get_by_id":
		return digest(payload, checkpoints/2)
	case "list":
		return fmt.Sprintf("%d:%s", limit, digest(payload, checkpoints-1))
	case "delete_thread":
		return "checkpoints=0"
	case "store_search":
		return fmt.Sprintf("%d:%s", limit, digest(payload, count-1))
	case "store_batch":
		// The operations at even places are gets, of the items one after the other.
		return fmt.Sprintf("%d:%s", writes, digest(payload, ((count-1)*writes+writes-1)%checkpoints))
	default:
		return "none: the protocol has no such operation"
	}
}

func (c *checks) fill(r request) error {
	r["do"], r["checkpoints"] = "fill", checkpoints
	a, err := c.peer.ask(r)
	if err != nil {
		return err
	}
	var nanoseconds int64
	// What is not a number is none that is positive.
	_ = json.Unmarshal(a.Nanoseconds, &nanoseconds)
	c.check(fmt.Sprintf("fill of %s", r["thread"]), a.OK && nanoseconds > 0, a)
	return nil
}

func (c *checks) run(operation, thread, payload, mode string, connections int, want string) error {
	a, err := c.peer.ask(newRun(operation, thread, payload, mode, connections))
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s of %s, %s on %d", operation, thread, mode, connections)
	var latencies []int64
	// What is not a list of latencies has no three of them.
	_ = json.Unmarshal(a.Nanoseconds, &latencies)
	positive := len(latencies) == count && slices.Min(latencies) > 0 && a.Wall >= slices.Max(latencies) && a.CPU > 0
	if c.check(what, a.OK && positive && a.Sample == want, a) {
		fmt.Printf("  %-14s %-5s %-8s x%d  %v\n", operation, payload, mode, connections, time.Duration(slices.Min(latencies)))
	} else if a.OK {
		fmt.Printf("  wanted the sample %q\n", want)
	}
	return nil
}

func newRun(operation, thread, payload, mode string, connections int) request {
	return request{
		"do": "run", "operation": operation, "thread": thread, "payload": payload, "mode": mode, "connections": connections,
		"checkpoints": checkpoints, "count": count, "limit": limit, "writes": writes,
	}
}

// refusals are what must be errors, and none of them may end the peer.
func (c *checks) refusals(hello answer) error {
	mode := hello.Modes[0]
	refused := map[string]request{
		"a request of no kind":          {"do": "sing"},
		"a mode of no kind":             newRun("get", "filled-small", "small", "shouted", 1),
		"a thread that is not filled":   newRun("get", "unknown", "small", mode, 1),
		"a payload that is not there":   newRun("put", "filled-small", "huge", mode, 1),
		"connections that are no more":  newRun("get", "filled-small", "small", mode, 0),
		"a history of no such channel":  newRun("delta_history", "filled-small", "small", mode, 1),
		"an operation that is not ours": newRun("juggle", "filled-small", "small", mode, 1),
	}
	for _, operation := range operations {
		if !slices.Contains(hello.Operations, operation) {
			refused[operation] = newRun(operation, "filled-small", "small", mode, 1)
		}
	}
	for what, r := range refused {
		a, err := c.peer.ask(r)
		if err != nil {
			return err
		}
		c.check(what+" is refused", !a.OK && a.Error != "", a)
		if operation, ok := r["operation"].(string); ok && !slices.Contains(hello.Operations, operation) {
			c.check(what+" is said not to be offered", strings.Contains(a.Error, "operation not offered"), a)
		}
	}
	return nil
}

func (c *checks) check(what string, ok bool, a answer) bool {
	if ok {
		c.passed++
	} else {
		c.failed++
		fmt.Printf("  FAILED %s: %s: ok %t, error %q, nanoseconds %s, wall %d, cpu %d, sample %q\n",
			c.name, what, a.OK, a.Error, a.Nanoseconds, a.Wall, a.CPU, a.Sample)
	}
	return ok
}
