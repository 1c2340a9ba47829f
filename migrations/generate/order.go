package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// order sorts the sources so that each comes after what it needs, and where possible after what it mentions. What is left
// open goes by room and name, views last. PL/pgSQL functions may mention each other in a circle; needing goes in none.
func order(all []*source) ([]*source, error) {
	waiting := preferred(all)
	known := map[string]bool{}
	for _, s := range waiting {
		known[s.id()] = true
	}
	placed := map[string]bool{}
	ready := func(ids map[string]bool) bool {
		for id := range ids {
			if known[id] && !placed[id] {
				return false
			}
		}
		return true
	}
	var sorted []*source
	for len(waiting) > 0 {
		i := slices.IndexFunc(waiting, func(s *source) bool { return ready(s.needs) && ready(s.mentions) })
		if i < 0 {
			i = slices.IndexFunc(waiting, func(s *source) bool { return ready(s.needs) })
		}
		if i < 0 {
			return nil, circle(waiting, known, placed)
		}
		sorted = append(sorted, waiting[i])
		placed[waiting[i].id()] = true
		waiting = slices.Delete(waiting, i, i+1)
	}
	return sorted, nil
}

// preferred is the order where no reference decides: as given (room, name), with views after everything else.
func preferred(all []*source) []*source {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b *source) int {
		switch {
		case a.kind == kindView && b.kind != kindView:
			return 1
		case a.kind != kindView && b.kind == kindView:
			return -1
		}
		return 0
	})
	return list
}

func circle(waiting []*source, known, placed map[string]bool) error {
	var lines []string
	for _, s := range waiting {
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(s.needs)), func(id string) bool { return !known[id] || placed[id] })
		lines = append(lines, fmt.Sprintf("  sql/%s needs %s", s.Path, strings.Join(missing, ", ")))
	}
	return fmt.Errorf("these need each other before any of them can be created; make one of them PL/pgSQL:\n%s", strings.Join(lines, "\n"))
}
