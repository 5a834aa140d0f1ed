package figures

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
)

// output is a Figure or a Table.
type output interface {
	Write(dir string) error
	CSV() string
}

// Every figure and table of the learned kernels draws from a small Result.
func TestLearnedKernelOutputs(t *testing.T) {
	rings := experiment.PaperRings()
	rings.Train, rings.Test, rings.K, rings.Steps, rings.GridPoints = 40, 30, 16, 2, 9
	xor := experiment.PaperXOR()
	xor.Train, xor.Test, xor.K, xor.Steps, xor.Panels, xor.GridPoints = 40, 30, 16, 2, []int{1, 2}, 9
	r, err := rings.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	x, err := xor.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, o := range []output{
		RingsTable(r), RingsBayesTable(r), RingsBoundary(r), RingsManifold(r), RingsVariants(r),
		XORTable(x), XORBayesTable(x), XORBoundary(x), XORManifold(x), XORVariants(x),
	} {
		if err := o.Write(dir); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		of   output
		want float64
	}{
		{RingsTable(r), r.Run(experiment.FullPenalised).LastLoss()},
		{XORTable(x), x.Run(experiment.Detached).FinalAccuracy()},
		{RingsBayesTable(r), r.Bayes.Population},
		{XORVariants(x), x.Run(experiment.Published).CVLoss[1]},
		{RingsManifold(r), r.Run(experiment.Full).Manifolds[1].Phi[0][0]},
	} {
		if !strings.Contains(c.of.CSV(), full(c.want)) {
			t.Errorf("%v is missing from\n%s", c.want, c.of.CSV())
		}
	}
	// Along the Bayes boundary lies its circle.
	for _, s := range RingsBoundary(r).Panels[0][0].series {
		if s.name == "Bayes rule" {
			for i := range s.x {
				if d := math.Hypot(s.x[i], s.y[i]); math.Abs(d-1.5) > .1 { // the grid is coarse
					t.Errorf("the Bayes boundary passes at distance %v", d)
				}
			}
		}
	}
}

func TestSampleSizeOutputs(t *testing.T) {
	p := experiment.PaperSampleSize()
	p.MinSize, p.MaxSize, p.SizeStep, p.Test, p.K, p.Steps, p.NetworkSteps, p.AdamSteps = 2, 20, 6, 50, 8, 2, 2, 2
	for seeds := range 2 {
		p.Seeds = seeds + 1
		r, err := p.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, o := range []output{SampleSizeCurves(r), SampleSizeLead(r), SampleSizeTable(r), SampleSizeDifferences(r)} {
			if err := o.Write(dir); err != nil {
				t.Error(err)
			}
		}
		if csv := SampleSizeCurves(r).CSV(); !strings.Contains(csv, full(r.Methods[experiment.SizeAdam].Mean[1].Mean)) || strings.Contains(csv, "Adam,2,") {
			t.Errorf("accuracies of every size but the failed one are wanted:\n%s", csv)
		}
		if note := SampleSizeTable(r).Note; !strings.Contains(note, "Failed") || !strings.Contains(note, fmt.Sprintf("size 2, seed %d", seeds)) {
			t.Errorf("the note does not name the failed cells: %q", note)
		}
	}
}
