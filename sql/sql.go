// Package sql holds what the database should contain today: one function, procedure, view, type or trigger a file, the file
// named after it, in one directory ("room") for each purpose. The migration of functions is generated from here
// (go run ./migrations/generate); the tables are in the migrations themselves.
//
// @extschema@ stands for the schema, @extschema@_analytics for the schema of views for people.
package sql

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Files holds the sources, each under room/name.sql.
//
//go:embed */*.sql
var Files embed.FS

// Rooms are the directories, in the order in which their objects are created where nothing else decides.
var Rooms = []string{"msgpack", "admin", "checkpoints", "lineage", "retention", "store", "analytics"}

// Object is one source file.
type Object struct {
	// Name of the object, and of the file without ".sql".
	Name string
	// Path of the file in this directory, such as "lineage/ancestors.sql".
	Path string
	// Room is the directory.
	Room string
	// Text of the file.
	Text string
}

// Objects lists every source, by room and then by name. It fails on a directory that is not one of Rooms.
func Objects() ([]Object, error) { return ObjectsIn(Files) }

// ObjectsIn lists the sources of another directory of the same shape.
func ObjectsIn(files fs.FS) ([]Object, error) {
	paths, err := fs.Glob(files, "*/*.sql")
	if err != nil {
		return nil, err
	}
	objects := make([]Object, 0, len(paths))
	for _, p := range paths {
		room := path.Dir(p)
		if !slices.Contains(Rooms, room) {
			return nil, fmt.Errorf("%s: %q is not a room; the rooms are %s", p, room, strings.Join(Rooms, ", "))
		}
		text, err := fs.ReadFile(files, p)
		if err != nil {
			return nil, err
		}
		objects = append(objects, Object{Name: strings.TrimSuffix(path.Base(p), ".sql"), Path: p, Room: room, Text: string(text)})
	}
	slices.SortFunc(objects, func(a, b Object) int {
		if a.Room != b.Room {
			return slices.Index(Rooms, a.Room) - slices.Index(Rooms, b.Room)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return objects, nil
}
