package manyhyper

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff/learntest/serial"
)

var keepMap = flag.Bool("keep-map", false, "run the map of LargeGradientMap, which takes some 20 minutes of processor time, and write kept_map.json")

// keptTol bounds the difference between a kept mean and a recomputed one, relative to the mean's
// interval. On other processors, differences in the last bit change the ends of a few searches.
const keptTol = .1

// TestKeptMap computes some cells of the kept map again.
func TestKeptMap(t *testing.T) {
	p := LargeGradientMap()
	if *keepMap {
		writeMap(t, p)
		return
	}
	serial.Test(t)
	kept := KeptMap()
	places := p.places()
	if !reflect.DeepEqual(kept.Params, p) || len(kept.Cells) != len(places) {
		t.Fatalf("the kept map has %d cells and the parameters %+v, not %d and %+v: run this test with -keep-map", len(kept.Cells), kept.Params, len(places), p)
	}
	if testing.Short() {
		return
	}
	for _, i := range []int{5, 100, 200} { // one cell of each problem, all of few examples
		place, cell := places[i], kept.Cells[i]
		if cell.MapPlace != place.MapPlace {
			t.Fatalf("the kept cell %d is %+v, not %+v", i, cell.MapPlace, place.MapPlace)
		}
		sets := make([]mapRisks, cell.CVLessTraining.N)
		for set := range sets {
			var err error
			if sets[set], err = p.measure(t.Context(), place, uint64(p.Number(set, len(sets)))); err != nil {
				t.Fatal(err)
			}
		}
		computed := p.summarise([]mapPlace{place}, [][]mapRisks{sets}).Cells[0]
		for k, pair := range [][2]experiment.Estimate{{cell.CVLessTraining, computed.CVLessTraining}, {cell.ManyLessOne, computed.ManyLessOne}, {cell.Many, computed.Many}} {
			if got, want := pair[0], pair[1]; got.N != want.N || !(math.Abs(got.Mean-want.Mean) <= keptTol*want.Margin) {
				t.Errorf("estimate %d of cell %+v: %v is kept, and %v is computed: run this test with -keep-map", k, place.MapPlace, got, want)
			}
		}
	}
}

// writeMap runs the map and writes kept_map.json.
func writeMap(t *testing.T, p GradientMapParams) {
	var shown atomic.Int64
	r, err := p.Run(t.Context(), experiment.Hooks{Progress: func(done, total int) {
		if percent := int64(100 * done / total); shown.Swap(percent) != percent {
			fmt.Printf("%d %%\n", percent)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Losses = MapLosses{}
		roundAll(&c.One, &c.Many, &c.Training, &c.OneCV, &c.ManyCV, &c.CVLessTraining, &c.ManyLessOne)
	}
	for i := range r.Effects {
		roundAll(&r.Effects[i].CVLessTraining, &r.Effects[i].ManyLessOne)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("kept_map.json", append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// roundAll rounds estimates to six digits, so that the file stays small.
func roundAll(estimates ...*experiment.Estimate) {
	for _, e := range estimates {
		for _, v := range []*float64{&e.Mean, &e.Margin} {
			*v, _ = strconv.ParseFloat(strconv.FormatFloat(*v, 'g', 6, 64), 64)
		}
	}
}
