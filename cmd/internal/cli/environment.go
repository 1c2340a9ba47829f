// Package cli is what the commands of this module share: what a command touches outside the database, the flags that find
// the database, exit codes, usage errors and confirmation.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Environment is what a command touches outside the database.
type Environment struct {
	// Getenv reads an environment variable, as os.Getenv does.
	Getenv func(string) string
	// Interactive says whether somebody at a terminal can answer on Stdin.
	Interactive func() bool
	// Columns is the width of the terminal that Stdout is; 0 where it is none.
	Columns func() int
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// System is the environment of this process.
func System() Environment {
	return Environment{
		Getenv:      os.Getenv,
		Interactive: func() bool { return term.IsTerminal(int(os.Stdin.Fd())) },
		Columns:     func() int { return columns(os.Stdout) },
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
	}
}

func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Confirm puts a question on Stderr and wants one exact answer on Stdin; anything else is an error that says that nothing
// was changed. What is about to happen is told in consequence, a clause without its full stop. Where there is no terminal to
// ask on, it is a usage error that names --yes.
func (e Environment) Confirm(ctx context.Context, consequence, question, answer string) error {
	if !e.Interactive() {
		return Usagef("%s; there is no terminal to ask on, so say --yes if that is meant", consequence)
	}
	fmt.Fprintf(e.Stderr, "%s.\n%s: ", strings.ToUpper(consequence[:1])+consequence[1:], question)
	line, err := e.readLine(ctx)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if line != answer {
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}

// readLine gives up when ctx ends, although the read itself cannot be: the process is about to end.
func (e Environment) readLine(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(e.Stdin).ReadString('\n')
		if line != "" {
			err = nil
		}
		answers <- answer{strings.TrimRight(line, "\r\n"), err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case a := <-answers:
		return a.line, a.err
	}
}

// Number reads an argument that must be a whole number, not below least.
func Number(name, text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, Usagef("%s is %q; it must be a whole number, %d or more", name, text, least)
	}
	return n, nil
}
