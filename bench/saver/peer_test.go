package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// fakePeerVariable makes the test binary a peer that behaves as it says.
const fakePeerVariable = "PGWEFT_BENCH_FAKE_PEER"

func init() {
	if behaviour := os.Getenv(fakePeerVariable); behaviour != "" {
		fakePeer(behaviour)
		os.Exit(0)
	}
}

// fakePeer answers every request for a get of three calls.
func fakePeer(behaviour string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Printf(`{"ok":false,"error":%q}`+"\n", err)
			continue
		}
		switch {
		case r.Do == "quit":
			return
		case behaviour == "dies":
			fmt.Fprintln(os.Stderr, "cannot connect to", r.Database)
			os.Exit(3)
		case behaviour == "silent" && r.Do != "hello":
		case behaviour == "babbles":
			fmt.Println("hello there")
		case r.Do == "hello":
			fmt.Printf(`{"ok":true,"name":"fake 1.0","note":"one row only","runtime":"Go","versions":{"fake":"1.0"},"operations":["get"],"payloads":%q}`+"\n", r.Payloads)
		case r.Do == "fill":
			fmt.Println(`{"ok":true,"nanoseconds":5}`)
		case r.Name != get || r.Mode != "sync":
			fmt.Printf(`{"ok":false,"error":"operation not offered: %s in mode %s"}`+"\n", r.Name, r.Mode)
		case behaviour == "short":
			fmt.Println(`{"ok":true,"nanoseconds":[1],"wall":1,"cpu":1,"sample":"x"}`)
		default:
			fmt.Printf(`{"ok":true,"nanoseconds":[1000,2000,3000],"wall":6000,"cpu":600,"sample":"read %s with %d checkpoints of %s on %d"}`+"\n",
				r.Thread, r.Checkpoints, r.Payload, r.Connections)
		}
	}
}

// startFake starts this binary as a peer, by the run.sh of a directory of peers.
func startFake(t *testing.T, behaviour string) (*peer, error) {
	t.Helper()
	directory := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	kind := peerKind{name: "fake", modes: []string{"sync"}}
	program, err := kind.program(directory)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Dir(program), 0o755))
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec '%s'\n", fakePeerVariable, behaviour, strings.ReplaceAll(self, "'", `'\''`))
	require.NoError(t, os.WriteFile(program, []byte(script), 0o755))
	return startPeer(t.Context(), kind, program, "postgres://somewhere", "payloads.json")
}

func TestAPeerIsAskedInItsProtocol(t *testing.T) {
	t.Parallel()
	p, err := startFake(t, "works")
	require.NoError(t, err)
	s := &peerSide{peer: p, mode: "sync"}
	require.Equal(t, about{Side: "fake", Title: "fake 1.0: one row only", Runtime: "Go", Versions: map[string]string{"fake": "1.0"}}, s.about())

	op := operation{Name: get, Payload: small, Thread: "t", Checkpoints: 10, Connections: 2}
	require.False(t, s.supports(op), "the thread is not filled yet")
	require.NoError(t, p.fill(t.Context(), []thread{{name: "t", payload: small, checkpoints: 10}}))
	require.True(t, s.supports(op))
	require.False(t, s.supports(operation{Name: put, Payload: small}), "the peer does not offer it")
	require.False(t, s.supports(operation{Name: get, Payload: smallBlobs, Thread: "t"}), "peers do not have that payload")

	done, err := s.run(t.Context(), op, 3)
	require.NoError(t, err)
	require.Equal(t, outcome{
		latencies: []time.Duration{1000, 2000, 3000}, clientCPU: 600, sample: "read t with 10 checkpoints of small on 2",
	}, done)
	_, err = s.run(t.Context(), op, 4)
	require.ErrorContains(t, err, "3 latencies for 4 operations")
	op.Name = "juggle"
	_, err = s.run(t.Context(), op, 3)
	require.ErrorContains(t, err, "operation not offered: juggle")
	require.NoError(t, p.close(t.Context()))
}

func TestAPeerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := startFake(t, "dies")
	require.ErrorContains(t, err, "cannot connect to postgres://somewhere")
	_, err = startFake(t, "babbles")
	require.ErrorContains(t, err, "hello there")
	_, err = startPeer(t.Context(), peerKind{name: "missing", modes: []string{"sync"}}, filepath.Join(t.TempDir(), "run.sh"), "", "")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAPeerFromElsewhereIsTheProgramThatIsNamed(t *testing.T) {
	const variable = "PGWEFT_BENCH_PEER_OF_THIS_TEST"
	kind := peerKind{name: "elsewhere", modes: []string{"pool"}, variable: variable}
	_, err := kind.program("bench/peers")
	require.ErrorIs(t, err, errNotGiven)
	require.ErrorContains(t, err, variable)
	t.Setenv(variable, "/opt/peer/run.sh")
	program, err := kind.program("bench/peers")
	require.NoError(t, err)
	require.Equal(t, "/opt/peer/run.sh", program)
}

func TestAPeerThatWasNotGivenIsSaidToBeLeftOutAndIsNoFailure(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	b := &bench{progress: measuring.NewProgress(null)}
	b.leaveOut(peerKind{name: "elsewhere", modes: []string{"pool"}}, fmt.Errorf("%w: nobody has one", errNotGiven))
	require.NoError(t, b.results.check(false))
	require.Contains(t, b.results.markdown(nil), "| elsewhere | **not measured**: no program was given: nobody has one | | |\n")
	b.leaveOut(peerKind{name: "broken", modes: []string{"sync"}}, errors.New("it fell over"))
	require.ErrorContains(t, b.results.check(false), "broken: it fell over")
}

func TestAPeerThatDoesTooLittleIsNoResult(t *testing.T) {
	t.Parallel()
	p, err := startFake(t, "short")
	require.NoError(t, err)
	_, err = (&peerSide{peer: p, mode: "sync"}).run(t.Context(), operation{Name: get}, 3)
	require.ErrorContains(t, err, "1 latencies for 3 operations")
	require.NoError(t, p.close(t.Context()))
}

func TestAPeerEndsWithTheRun(t *testing.T) {
	t.Parallel()
	p, err := startFake(t, "silent")
	require.NoError(t, err)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.ask(interrupted, request{Do: "fill"}, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	p.cancel()
	require.NoError(t, p.close(interrupted))
}

func TestAPeerThatDoesNotAnswerIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	p, err := startFake(t, "silent")
	require.NoError(t, err)
	_, err = p.ask(t.Context(), request{Do: "fill"}, time.Millisecond)
	require.ErrorContains(t, err, "no answer within 1ms")
	_, err = p.ask(t.Context(), request{Do: "fill"}, time.Minute)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "no answer within")
	require.Error(t, p.close(t.Context()), "it was killed")
}

func TestAPeerThatFailsIsOutOfTheCaseAndOthersAreAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	run := &sideRun{side: &peerSide{peer: &peer{kind: peerKind{name: "fake", modes: []string{"sync"}}}, mode: "sync"}}
	require.NoError(t, run.failed(t.Context(), broken))
	require.Equal(t, "broken", run.result.Problem)
	require.Equal(t, result{Side: "fake", Problem: "broken"}, run.end(&benchmarkCase{}))

	own := &sideRun{side: &goSide{id: pgweftName}}
	require.ErrorIs(t, own.failed(t.Context(), broken), broken)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run.failed(interrupted, broken), context.Canceled)
}
