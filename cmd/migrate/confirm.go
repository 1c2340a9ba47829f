package main

import (
	"context"
	"fmt"
)

// confirmLoss has the user type the schema's name before migrations are undone.
func (o *options) confirmLoss(ctx context.Context, yes bool, from, to int) error {
	if yes {
		return nil
	}
	schema := o.database.Schema()
	consequence := fmt.Sprintf("going down from version %d to %d removes tables or functions of schema %q, and all data in those tables",
		from, to, schema)
	return o.env.Confirm(ctx, consequence, "Type the schema's name to go on", schema)
}
