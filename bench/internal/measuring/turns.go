package measuring

import (
	"iter"
	"slices"
)

// WarmUps are calls that are not counted: plans of prepared statements settle at the sixth.
const WarmUps = 8

// Turns numbers rounds in which every side has its turn. The order of a round is the opposite of the last one's, so that
// nobody always comes after the same. It says how many rounds are done.
func Turns[S any](p *Progress, rounds int, sides []S) iter.Seq2[int, []S] {
	return func(yield func(int, []S) bool) {
		order := slices.Clone(sides)
		for round := range rounds {
			p.Step(round, rounds)
			if !yield(round, order) {
				return
			}
			slices.Reverse(order)
		}
	}
}
