package main

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// confirmLoss has the user type the schema's name before migrations are undone.
func (o *options) confirmLoss(yes bool, from, to int) error {
	if yes {
		return nil
	}
	what := fmt.Sprintf("going down from version %d to %d removes tables or functions of schema %q, and all data in those tables",
		from, to, o.schemaName())
	if !o.env.interactive() {
		return usageError{fmt.Errorf("%s; there is no terminal to ask on, so say --yes if that is meant", what)}
	}
	fmt.Fprintf(o.env.stderr, "%s.\nType the schema's name to go on: ", strings.ToUpper(what[:1])+what[1:])
	line, err := bufio.NewReader(o.env.stdin).ReadString('\n')
	if err != nil && line == "" {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimRight(line, "\r\n") != o.schemaName() {
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}

// number reads an argument that must be a whole number, not below least.
func number(name, text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, usageError{fmt.Errorf("%s is %q; it must be a whole number, %d or more", name, text, least)}
	}
	return n, nil
}
