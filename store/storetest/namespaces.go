package storetest

import (
	"fmt"

	"github.com/pgweft/pgweft/store"
)

var namespaceTests = []test{
	{"labels may be any text without dots", namespaceAnyLabel},
	{"labels that look like patterns match only themselves", namespaceNoPatterns},
	{"bad labels are refused by every operation", namespaceRefusesLabels},
	{"an item needs a namespace", namespaceRefusesEmpty},
	{"langgraph is reserved as the first label only", namespaceReserved},
	{"namespaces may be twenty labels deep", namespaceDeep},
}

func namespaceAnyLabel(s *space) {
	for name, label := range identifiers() {
		s.each(name, func(s *space) {
			for _, namespace := range [][]string{s.ns(label), s.ns(label, "below"), s.ns("above", label), s.ns("other")} {
				s.put(namespace, "k", value{"n": 1})
			}
			s.equal("namespace", s.get(s.ns(label), "k").Namespace, s.ns(label))
			s.findsAll(store.SearchOp{NamespacePrefix: s.ns(label)}, label+"/k", label+".below/k")
			s.findsAll(store.SearchOp{NamespacePrefix: s.ns("above", label), Filter: value{"n": 1}}, "above."+label+"/k")
			s.equal("namespaces by prefix", s.namespaces(store.ListNamespacesOp{
				Match: []store.MatchCondition{store.Prefix(s.root, label)},
			}), []string{label, label + ".below"})
			s.equal("namespaces by suffix", s.namespaces(store.ListNamespacesOp{
				Match: []store.MatchCondition{store.Prefix(s.root, "above"), store.Suffix(label)},
			}), []string{"above." + label})
			s.remove(s.ns(label), "k")
			s.findsAll(store.SearchOp{NamespacePrefix: s.ns()}, label+".below/k", "above."+label+"/k", "other/k")
		})
	}
}

func namespaceNoPatterns(s *space) {
	spaced := "a "
	for label, lookalike := range map[string]string{
		"a_b": "axb", "50%": "50 of 100", `a\_b`: "a_b", `\`: `\\`, "[ab]": "a", "a?": "a", "^a": "a", "a$": "a", "(a)": "a",
		"a+": "aa", "A": "a", "é": "e\u0301", spaced: "a",
	} {
		s.each(fmt.Sprintf("%q is not %q", label, lookalike), func(s *space) {
			s.put(s.ns(label), "k", value{})
			s.put(s.ns(lookalike), "k", value{})
			s.put(s.ns(lookalike, "below"), "k", value{})
			s.finds(store.SearchOp{NamespacePrefix: s.ns(label)}, label+"/k")
			s.equal("namespaces by prefix", s.namespaces(store.ListNamespacesOp{
				Match: []store.MatchCondition{store.Prefix(s.root, label)},
			}), []string{label})
			s.equal("namespaces by suffix", s.namespaces(store.ListNamespacesOp{
				Match: []store.MatchCondition{store.Prefix(s.root), store.Suffix(label)},
			}), []string{label})
		})
	}
}

func namespaceRefusesLabels(s *space) {
	for name, label := range badLabels() {
		s.each(name, func(s *space) {
			for _, namespace := range [][]string{{label}, s.ns(label), s.ns("a", label, "b")} {
				for what, op := range map[string]store.Op{
					"put":                      store.PutOp{Namespace: namespace, Key: "k", Value: value{}},
					"get":                      store.GetOp{Namespace: namespace, Key: "k"},
					"delete":                   store.PutOp{Namespace: namespace, Key: "k"},
					"search":                   store.SearchOp{NamespacePrefix: namespace},
					"list namespaces (prefix)": store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix(namespace...)}},
					"list namespaces (suffix)": store.ListNamespacesOp{Match: []store.MatchCondition{store.Suffix(namespace...)}},
				} {
					s.refuses(fmt.Sprintf("%s with %q", what, namespace), store.ErrInvalidNamespace, op)
				}
			}
			s.isEmpty()
		})
	}
}

func namespaceRefusesEmpty(s *space) {
	for _, namespace := range [][]string{nil, {}} {
		s.refuses("put", store.ErrInvalidNamespace, store.PutOp{Namespace: namespace, Key: s.root, Value: value{}})
		s.refuses("get", store.ErrInvalidNamespace, store.GetOp{Namespace: namespace, Key: s.root})
		s.refuses("delete", store.ErrInvalidNamespace, store.PutOp{Namespace: namespace, Key: s.root})
	}
}

func namespaceReserved(s *space) {
	for _, namespace := range [][]string{{"langgraph"}, {"langgraph", s.root}} {
		s.refuses("put", store.ErrInvalidNamespace, store.PutOp{Namespace: namespace, Key: s.root, Value: value{}})
	}
	s.put(s.ns("langgraph"), "k", value{"n": 1})
	s.holds("value under langgraph as the second label", s.get(s.ns("langgraph"), "k").Value, value{"n": 1})
}

func namespaceDeep(s *space) {
	deep := s.ns()
	for i := range 19 {
		deep = append(deep, fmt.Sprint(i))
	}
	s.put(deep, "k", value{})
	s.equal("namespace", s.get(deep, "k").Namespace, deep)
	s.finds(store.SearchOp{NamespacePrefix: deep[:10]}, "0.1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18/k")
}
