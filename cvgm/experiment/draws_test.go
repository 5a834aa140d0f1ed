package experiment_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/registry"
	"cvgm/synth"
)

// The variable repetitions holds the names of those parameters that are numbers of data sets in a
// draw.
var repetitions = []string{"Seeds", "PairSeeds", "DataSets", "RingsDataSets", "LossSeeds"}

// Some problems have only one data set in each draw. singles maps the name of an experiment to the
// number of cells of these problems.
var singles = map[string]int{"derivatives": 8, "learning": 3}

// All experiments have draws, except the experiments on the paper's own data or on a file.
func TestExperimentsWithFreshDataHaveDraws(t *testing.T) {
	var without []string
	for _, e := range registry.All() {
		if !hasDraws(e) {
			without = append(without, e.Name)
		}
	}
	if want := []string{"elastic_net", "my_data", "rings", "unrolled", "xor"}; !slices.Equal(without, want) {
		t.Errorf("without draws are %v, want %v", without, want)
	}
}

func hasDraws(e *experiment.Experiment) bool { return experiment.Set(e.Params(), "Draw", "0") == nil }

// If the repetitions of draw 0 are doubled, the run has additional cells. The additional cells must
// equal the cells of draw 1, bit for bit. The results of two draws differ, and so do the values of
// their cells, except for cells with only one number, which may recur by chance. The test does not
// run with -short, because other tests run every experiment.
func TestDrawsFollowEachOther(t *testing.T) {
	if testing.Short() {
		t.Skip("compares seven runs of each experiment")
	}
	for _, e := range registry.All() {
		if !hasDraws(e) {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			p := e.Draw(synth.NewStream(1, "draws of "+e.Name))
			var draws []map[string]int
			var results []any
			for draw := range 3 {
				cells, result := runDraw(t, e, p, draw)
				draws, results = append(draws, cells), append(results, result)
				for before := range draw {
					if reflect.DeepEqual(results[before], result) {
						t.Errorf("draws %d and %d have one result", before, draw)
					}
					for value := range draws[before] {
						if cells[value] > 0 && numbersIn(value) > 1 {
							t.Errorf("draws %d and %d share %s", before, draw, value)
						}
					}
				}
			}
			was := double(t, p)
			for draw := range 2 {
				renumber(p, was, draw)
				both, _ := runDraw(t, e, p, 0)
				alone := 0
				for value, times := range draws[draw] {
					alone += max(0, times-both[value])
				}
				if alone != draw*singles[e.Name] || count(both) != count(draws[0])+count(draws[1])-singles[e.Name] {
					t.Errorf("%d and %d cells of two draws, %d of twice the repetitions, which lack %d of draw %d", count(draws[0]), count(draws[1]), count(both), alone, draw)
				}
			}
		})
	}
}

// runDraw returns the values of the cells of a draw, each with its count. It omits cells in which
// all numbers are 0. It also returns the result, with Params.Draw set to 0.
func runDraw(t *testing.T, e *experiment.Experiment, p any, draw int) (map[string]int, any) {
	t.Helper()
	set(t, p, "Draw", draw)
	keeper := values{of: make(map[string]int)}
	result, err := e.Run(t.Context(), experiment.Hooks{Keeper: &keeper}, p)
	if err != nil {
		t.Fatalf("draw %d: %v", draw, err)
	}
	reflect.ValueOf(result).Elem().FieldByName("Params").FieldByName("Draw").SetInt(0)
	return keeper.of, result
}

// values is a keeper that counts the values of cells.
type values struct {
	mu sync.Mutex
	of map[string]int
}

func (*values) Load(int, any) bool { return false }

func (v *values) Keep(_ int, cell any) {
	value := fmt.Sprintf("%x", reflect.ValueOf(cell).Elem().Interface())
	v.mu.Lock()
	defer v.mu.Unlock()
	if numbersIn(value) > 0 {
		v.of[value]++
	}
}

func count(cells map[string]int) (n int) {
	for _, times := range cells {
		n += times
	}
	return n
}

// double doubles the repetitions in p and returns the previous numbers.
func double(t *testing.T, p any) map[string]int {
	t.Helper()
	was := make(map[string]int)
	for _, f := range experiment.Fields(p) {
		if slices.Contains(repetitions, f.Name) {
			was[f.Name], _ = strconv.Atoi(f.Value)
			set(t, p, f.Name, 2*was[f.Name])
		}
	}
	return was
}

// renumber changes parameters in p that are the index of a data set, so that they refer to the same
// data set of another draw. The tag below of such a parameter is the name of a number of
// repetitions.
func renumber(p any, repetitions map[string]int, draw int) {
	_ = experiment.EachField(p, func(_ string, v reflect.Value, tag reflect.StructTag) error {
		if n, is := repetitions[tag.Get("below")]; is {
			v.SetInt(v.Int() + int64(draw*n))
		}
		return nil
	})
}

// numbersIn counts the different numbers other than 0 in the text of a cell's result.
func numbersIn(value string) int {
	found := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("{}[] ", r) })
	slices.Sort(found)
	return len(slices.DeleteFunc(slices.Compact(found), func(number string) bool { return number == "0x0p+00" }))
}

func set(t *testing.T, p any, name string, value int) {
	t.Helper()
	if err := experiment.Set(p, name, strconv.Itoa(value)); err != nil {
		t.Fatal(err)
	}
}
