package manyhyper

import (
	_ "embed"
	"encoding/json"
)

// LargeGradientMap returns the parameters of the map that [KeptMap] returns: all combinations of
// four sizes, four numbers of hyperparameters, three shares and two noises, 288 cells in all. A run
// takes some 20 minutes of processor time.
func LargeGradientMap() GradientMapParams {
	p := DefaultGradientMap()
	p.Penalties.Sizes, p.Widths.Sizes, p.Weights.Sizes = []int{20, 40, 80, 160}, []int{20, 40, 80, 160}, []int{8, 20, 60, 120}
	p.Penalties.Groups, p.Widths.Groups, p.Weights.Hidden = []int{2, 4, 10, 20}, []int{2, 4, 10, 20}, []int{4, 8, 32, 64}
	p.Shares = []float64{.5, .7, .9}
	p.Fraction, p.DataSets, p.RingsDataSets = 1, 100, 200
	return p
}

//go:embed kept_map.json
var keptMap []byte

// KeptMap returns a result of [LargeGradientMap] that is kept with the sources. Its cells have no
// Losses. The command
//
//	go test ./cvgm/experiment/manyhyper -run TestKeptMap -keep-map -timeout 0
//
// runs the map again and keeps the new result.
func KeptMap() *MapResult {
	var r MapResult
	if err := json.Unmarshal(keptMap, &r); err != nil {
		panic(err) // TestKeptMap reads the same file
	}
	return &r
}
