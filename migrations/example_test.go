package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/migrations"
)

// A deployment step brings the schema up to date; any number of them may run at once.
func ExampleMigrator_Up() {
	connConfig, err := pgx.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	migrator, err := migrations.New(connConfig, &migrations.Config{Schema: "agents"})
	if err != nil {
		log.Fatal(err)
	}
	err = migrator.Up(context.Background())
	var failed *migrations.MigrationError
	switch {
	case errors.Is(err, migrations.ErrNewerSchema):
		log.Fatal("deploy the newer binary: ", err)
	case errors.As(err, &failed):
		log.Fatalf("still at version %d: %v", failed.Version, err)
	case err != nil:
		log.Fatal(err)
	}
}

func ExampleRender() {
	sql, err := migrations.Render("select * from @extschema@_analytics.checkpoints;", "my agents")
	fmt.Println(sql, err)
	// Output: select * from "my agents_analytics".checkpoints; <nil>
}
