package penalised

import (
	"fmt"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
)

// BenchmarkPenalties measures fits and derivatives with 1 and with 100 penalties. The command
// .ci/count compares both costs.
func BenchmarkPenalties(b *testing.B) {
	const rows, n, count = 2000, 200, 10
	d := casetest.ClassData(1, rows, n)
	folds := make([][]int, count)
	for i := range rows {
		folds[i%count] = append(folds[i%count], i)
	}
	for _, penalties := range []int{1, 100} {
		ridges, full := make([]Penalty, penalties), make([]Penalty, penalties)
		for j := range penalties {
			ridges[j] = Ridge(j*n/penalties, n/penalties)
			full[j].S = square(root(uint64(j), n, n))
		}
		for kind, name := range []string{"ridges", "dense"} {
			all := [][]Penalty{ridges, full}[kind]
			for _, loss := range []Loss{Squared, Logistic} {
				l, w := &GLM{Loss: loss, Penalties: all}, new(qpdiff.Workspace)
				hyper, g, dst := make([]float64, penalties), &learn.Grad{Hyper: make([]float64, penalties)}, make([]float64, rows)
				evaluate := func() error {
					for j := range hyper {
						hyper[j] = 3/float64(penalties) - hyper[j]
					}
					if loss == Logistic {
						l.Reset()
						if err := l.Fit(dst[:n], hyper); err != nil {
							return err
						}
						return l.VJP(w, g, dst[:n])
					}
					if err := l.Folds(dst, hyper, folds); err != nil {
						return err
					}
					return l.FoldsVJP(w, g, nil, dst)
				}
				b.Run(fmt.Sprintf("%s/%d/%s", loss.name(), penalties, name), func(b *testing.B) {
					for j := range hyper {
						hyper[j] = 1 / float64(penalties)
					}
					numtest.OK(b, l.Load(d), evaluate())
					b.ReportAllocs()
					for b.Loop() {
						numtest.OK(b, evaluate())
					}
				})
			}
		}
	}
}
