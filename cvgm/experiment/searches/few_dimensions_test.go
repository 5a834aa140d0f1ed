package searches

import (
	"testing"

	"cvgm/cvgm/experiment"
)

func TestCarries(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{1, 0, 0, 0}, .25},
		{[]float64{0, 8, 0, 1}, .5},
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, .9},
		{[]float64{1, 1}, 1},
	} {
		if got := carries(c.of); got != c.want {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}

// If the loss depends on one hyperparameter, a grid in several dimensions finds no lower loss than
// a grid in one dimension. Random search tries new values of this hyperparameter and finds a loss
// as low.
func TestFewDimensionsGridHasTheValuesOfOneAxis(t *testing.T) {
	p := DefaultFewDimensions()
	p.Groups, p.DataSets, p.Points = []int{1}, 2, 1
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	p.Hyperparameters = 1
	alone, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Points != 81 || alone.Points != 3 {
		t.Errorf("%d and %d points", r.Points, alone.Points)
	}
	for i, lowest := range r.Rows[0].Grid {
		if lowest != alone.Rows[0].Grid[i] || r.Rows[0].Random[i] > lowest {
			t.Errorf("grid %g and %g, random %g", lowest, alone.Rows[0].Grid[i], r.Rows[0].Random[i])
		}
	}
}
