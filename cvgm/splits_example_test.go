package cvgm_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/synth"
)

// Each fold has one example of class 1 and two of class 0.
func ExampleStratifiedKFold() {
	y := []float64{0, 0, 1, 0, 0, 1}
	splits, err := cvgm.StratifiedKFold(synth.NewStream(1, "example splits"), y, 2)
	if err != nil {
		panic(err)
	}
	for _, s := range splits {
		fmt.Println("train on", s.Train, "validate on", s.Val)
	}
	// Output:
	// train on [1 3 5] validate on [0 2 4]
	// train on [0 2 4] validate on [1 3 5]
}

// The examples of one patient are in one fold.
func ExampleGroupedKFold() {
	patients := []int{7, 7, 7, 12, 12, 31}
	splits, err := cvgm.GroupedKFold(synth.NewStream(1, "example splits"), patients, 2)
	if err != nil {
		panic(err)
	}
	for _, s := range splits {
		fmt.Println("train on", s.Train, "validate on", s.Val)
	}
	// Output:
	// train on [3 4 5] validate on [0 1 2]
	// train on [0 1 2] validate on [3 4 5]
}

func ExampleTimeSplits() {
	splits, err := cvgm.TimeSplits(8, 3, 1)
	if err != nil {
		panic(err)
	}
	for _, s := range splits {
		fmt.Println("train on", s.Train, "validate on", s.Val)
	}
	// Output:
	// train on [0] validate on [2 3]
	// train on [0 1 2] validate on [4 5]
	// train on [0 1 2 3 4] validate on [6 7]
}

func ExampleCheckGroups() {
	splits, err := cvgm.TimeSplits(6, 2, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(cvgm.CheckGroups(splits, []int{1, 1, 2, 2, 2, 3}))
	// Output: cvgm: split 1: Split has group 2 on both sides: it trains on example 3 and validates on example 4 (outside its domain): draw the splits with GroupedKFold
}
