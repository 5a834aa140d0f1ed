package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// spellingTol is the largest accepted relative difference of results whose features are in another
// order. Sums then have other rounding errors, which move the end of a descent.
const spellingTol = 1e-4

// sale is a row of the test's table.
type sale struct {
	store, month string
	visitors, y  float64
	weight       int
	fold         int
}

// sales returns rows of four stores, of which airport has the fewest. The target is a number or ±1.
func sales(classes bool) []sale {
	src := synth.NewStream(7, "spelling")
	var all []sale
	for i := range 90 {
		s := sale{store: []string{"north", "south", "east", "south"}[i*i%11%4], month: []string{"may", "june", "june"}[i%3], visitors: src.NormFloat64(), weight: 1 + i%3, fold: i % 5}
		if i%13 == 0 {
			s.store = "airport"
		}
		s.y = map[string]float64{"airport": 3, "south": .8}[s.store] + .5*s.visitors + map[string]float64{"may": .7}[s.month] + src.NormFloat64()
		if classes {
			s.y = math.Copysign(1, s.y-.7)
		}
		all = append(all, s)
	}
	return all
}

// tuneSales tunes a learner on the rows in the given order, with the same folds for every order. It
// returns the CV loss, the hyperparameters and the prediction for each row.
func tuneSales(t *testing.T, rows []sale, order []int, rename map[string]string, weighted bool, tuner Tuner) []float64 {
	t.Helper()
	var b strings.Builder
	b.WriteString("store,month,visitors,y,weight\n")
	tuner.Splits = make([]cvgm.Split, 5)
	for at, i := range order {
		r := rows[i]
		named := func(level string) string {
			if other, ok := rename[level]; ok {
				return other
			}
			return level
		}
		fmt.Fprintf(&b, "%s,%s,%v,%v,%d\n", named(r.store), named(r.month), r.visitors, r.y, r.weight)
		for j := range tuner.Splits {
			if s := &tuner.Splits[j]; r.fold == j {
				s.Val = append(s.Val, at)
			} else {
				s.Train = append(s.Train, at)
			}
		}
	}
	c := table.CSV{Target: "y", Ignore: []string{"weight"}}
	if weighted {
		c.Ignore, c.Weights = nil, "weight"
	}
	tbl := casetest.Must(c.Read(strings.NewReader(b.String())))(t)
	tuner.OuterFolds, tuner.KeepWinner = -1, true
	tuned := casetest.Must(tuner.TuneTable(t.Context(), tbl))(t)
	decisions := casetest.Must(tuned.Pipeline.Decision(tbl))(t)
	results := append([]float64{tuned.Loss}, tuned.Hyper...)
	at := make([]float64, len(order))
	for k, i := range order {
		at[i] = decisions[k]
	}
	return append(results, at...)
}

// Neither the names of levels nor the order of the rows change a model.
func TestSpellingDoesNotMatter(t *testing.T) {
	elasticNet := &linear.ElasticNet{}
	for name, c := range map[string]struct {
		classes bool
		learner learn.Learner
		fixed   map[string]float64
	}{
		"ridge":       {false, elasticNet, map[string]float64{"λ1": 0}},
		"lasso":       {false, elasticNet, map[string]float64{"λ2": 0}},
		"elastic net": {false, elasticNet, nil},
		"logistic":    {true, &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, nil},
	} {
		for _, weighted := range []bool{false, true} {
			rows := sales(c.classes)
			order := make([]int, len(rows))
			for i := range order {
				order[i] = i
			}
			tuner := Tuner{Learner: c.learner, Fixed: c.fixed}
			want := tuneSales(t, rows, order, nil, weighted, tuner)
			mixed := rand.New(rand.NewPCG(1, 2)).Perm(len(rows))
			for what, got := range map[string][]float64{
				"the rarest level renamed": tuneSales(t, rows, order, map[string]string{"airport": "zairport"}, weighted, tuner),
				"all levels renamed":       tuneSales(t, rows, order, map[string]string{"airport": "m", "south": "z", "north": "b", "may": "a"}, weighted, tuner),
				"rows in another order":    tuneSales(t, rows, mixed, nil, weighted, tuner),
				"both":                     tuneSales(t, rows, mixed, map[string]string{"south": "aa", "june": "zz"}, weighted, tuner),
			} {
				for i, v := range got {
					if !(math.Abs(v-want[i]) <= spellingTol*max(math.Abs(want[i]), want[0])) {
						t.Errorf("%s, weighted %v, %s: result %d is %v instead of %v", name, weighted, what, i, v, want[i])
						break
					}
				}
			}
		}
	}
}

// The names of classes change no model: they only decide which class is +1 or comes first.
func TestSpellingOfClassesDoesNotMatter(t *testing.T) {
	for _, names := range [][]string{{"no", "yes"}, {"low", "middle", "top"}} {
		var want []float64
		for turn := range names {
			var b strings.Builder
			b.WriteString("store,visitors,class\n")
			tuner, rows := Tuner{Splits: make([]cvgm.Split, 5), OuterFolds: -1, KeepWinner: true}, sales(false)
			name := func(k int) string { return names[(k+turn)%len(names)] }
			for i, r := range rows {
				k := min(max(int(r.y+.5), 0), len(names)-1)
				fmt.Fprintf(&b, "%s,%v,%s\n", r.store, r.visitors, name(k))
				for j := range tuner.Splits {
					if s := &tuner.Splits[j]; r.fold == j {
						s.Val = append(s.Val, i)
					} else {
						s.Train = append(s.Train, i)
					}
				}
			}
			tbl := casetest.Must(table.ReadCSV(strings.NewReader(b.String()), "class"))(t)
			var got []float64
			if len(names) == 2 {
				tuned := casetest.Must(tuner.TuneTable(t.Context(), tbl))(t)
				got = append(append(got, tuned.Loss), tuned.Hyper...)
				for _, p := range casetest.Must(tuned.Pipeline.Probability(tbl))(t) {
					if tbl.Classes[1] != name(1) {
						p = 1 - p
					}
					got = append(got, p)
				}
			} else {
				tuned := casetest.Must(tuner.TuneClasses(t.Context(), tbl))(t)
				got = append(append(got, tuned.Joint.Loss), tuned.Joint.Hyper...)
				pipeline := casetest.Must(tuned.Pipeline())(t)
				probabilities := casetest.Must(pipeline.Probability(tbl))(t)
				for i := range rows {
					for k := range names {
						got = append(got, probabilities.At(i, slices.Index(tbl.Classes, name(k))))
					}
				}
			}
			if want == nil {
				want = got
			}
			for i, v := range got {
				if !(math.Abs(v-want[i]) <= spellingTol*max(math.Abs(want[i]), want[0])) {
					t.Errorf("%q, turned by %d: result %d is %v instead of %v", names, turn, i, v, want[i])
					break
				}
			}
		}
	}
}
