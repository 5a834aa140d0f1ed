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

// repetitions lists the parameters that give the number of data sets in a draw.
var repetitions = []string{"Seeds", "PairSeeds", "DataSets", "RingsDataSets", "LossSeeds"}

// singleSetCells maps an experiment to its number of cells for problems with only one data set in
// each draw.
var singleSetCells = map[string]int{"derivatives": 8, "learning": 3}

// Every experiment has draws unless it uses the paper's own data or a file.
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

// A run with twice the repetitions equals two consecutive draws, cell by cell and bit by bit. Cells
// of different draws differ, unless they hold a single number.
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
			was := doubleRepetitions(t, p)
			for draw := range 2 {
				renumber(p, was, draw)
				both, _ := runDraw(t, e, p, 0)
				alone := 0
				for value, times := range draws[draw] {
					alone += max(0, times-both[value])
				}
				if alone != draw*singleSetCells[e.Name] || count(both) != count(draws[0])+count(draws[1])-singleSetCells[e.Name] {
					t.Errorf("%d and %d cells of two draws, %d of twice the repetitions, which lack %d of draw %d", count(draws[0]), count(draws[1]), count(both), alone, draw)
				}
			}
		})
	}
}

// runDraw returns the values of the cells of a draw with their counts, and the result with
// Params.Draw set to 0.
func runDraw(t *testing.T, e *experiment.Experiment, p any, draw int) (map[string]int, any) {
	t.Helper()
	set(t, p, "Draw", draw)
	keeper := valueCounter{of: make(map[string]int)}
	result, err := e.Run(t.Context(), experiment.Hooks{Keeper: &keeper}, p)
	if err != nil {
		t.Fatalf("draw %d: %v", draw, err)
	}
	reflect.ValueOf(result).Elem().FieldByName("Params").FieldByName("Draw").SetInt(0)
	return keeper.of, result
}

// valueCounter is a Keeper that counts the values of cells.
type valueCounter struct {
	mu sync.Mutex
	of map[string]int
}

func (*valueCounter) Load(int, any) bool { return false }

func (v *valueCounter) Keep(_ int, cell any) {
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

// doubleRepetitions doubles the repetitions in p and returns the previous numbers.
func doubleRepetitions(t *testing.T, p any) map[string]int {
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

// renumber shifts each parameter that is the index of a data set to the same data set of another
// draw. Its struct tag "below" names the number of repetitions.
func renumber(p any, repetitions map[string]int, draw int) {
	_ = experiment.EachField(p, func(_ string, v reflect.Value, tag reflect.StructTag) error {
		if n, is := repetitions[tag.Get("below")]; is {
			v.SetInt(v.Int() + int64(draw*n))
		}
		return nil
	})
}

// numbersIn counts the distinct nonzero numbers in the text of a cell's result.
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
