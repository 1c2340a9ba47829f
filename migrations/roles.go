package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// RolesOptions are what can be chosen about the rights of a schema's roles. The zero value leaves everything as it is.
type RolesOptions struct {
	// DryRun returns the statements without running them.
	DryRun bool
	// ReaderValues says whether the reader may see what agents saved, rather than only which threads and checkpoints there
	// are. Nil leaves that as it is: no, at first.
	ReaderValues *bool
}

// Roles makes the roles of the schema where they are missing, <schema>_app, <schema>_reader and <schema>_ops, and grants them
// exactly what the SQL function role_rights says, in one transaction, by grant_roles. It returns the statements. Making a role
// needs CREATEROLE; granting needs the owner of the schema.
//
// Errors: ErrDirty, ErrNewerSchema, *pgconn.PgError.
func (m *Migrator) Roles(ctx context.Context, options RolesOptions) ([]string, error) {
	var statements []string
	err := m.inSchema(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select `+quoteIdentifier(m.config.Schema)+`.grant_roles($1::boolean, $2::boolean)`,
			options.DryRun, options.ReaderValues)
		if err != nil {
			return err
		}
		statements, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("roles of schema %q: %w", m.config.Schema, err)
	}
	return statements, nil
}

// inSchema works in a transaction on a schema that is at the latest version.
func (m *Migrator) inSchema(ctx context.Context, do func(pgx.Tx) error) error {
	conn, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer m.disconnect(ctx, conn)
	return m.locked(ctx, conn, func(tx pgx.Tx) error {
		version, err := m.usableVersion(ctx, tx)
		if err != nil {
			return err
		}
		if version < m.Latest() {
			return fmt.Errorf("it is at version %d of %d; run \"migrate up\" first", version, m.Latest())
		}
		return do(tx)
	})
}

// regrant gives the roles their rights on what a migration made. Roles belong to the whole server: those without any right
// here were made for a schema of another database, and grants are only for whoever asked for them here.
func (m *Migrator) regrant(ctx context.Context) error {
	granted := false
	err := m.inSchema(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			select to_regprocedure($2) is not null and exists (
				select
				from pg_namespace n
				cross join aclexplode(n.nspacl) a
				join pg_roles r on r.oid = a.grantee
				where n.nspname = $1 and r.rolname in ($1 || '_app', $1 || '_reader', $1 || '_ops')
			)`, m.config.Schema, quoteIdentifier(m.config.Schema)+".grant_roles(boolean, boolean)").Scan(&granted)
		if err != nil || !granted {
			return err
		}
		_, err = tx.Exec(ctx, `select `+quoteIdentifier(m.config.Schema)+`.grant_roles()`)
		return err
	})
	if err != nil {
		return fmt.Errorf("the migrations have run, but granting rights to the roles of schema %q failed; "+
			"run \"migrate roles\": %w", m.config.Schema, err)
	}
	if granted {
		m.config.Logger.InfoContext(ctx, "granted the roles of the schema their rights")
	}
	return nil
}
