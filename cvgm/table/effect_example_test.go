package table_test

import (
	"fmt"
	"strings"

	"cvgm/cvgm/table"
)

// WithEffects determines the features of a column. Package terms adds a penalty for each effect.
func ExampleEffect() {
	tbl, err := table.ReadCSV(strings.NewReader("id,dose,site,gain\n1,.5,a,3\n2,1.5,b,5\n3,2,a,7\n"), "gain")
	if err != nil {
		panic(err)
	}
	tbl, err = tbl.WithEffects(table.Effect{Column: "dose", Kind: table.SmoothEffect, Bases: 4}, table.Effect{Column: "site", Kind: table.LevelsEffect})
	if err != nil {
		panic(err)
	}
	_, encoder, err := tbl.Data()
	fmt.Printf("%q %v\n", encoder.Names(), err)
	fmt.Println(tbl.Columns[0].Effect.Low, tbl.Columns[0].Effect.High)
	// Output:
	// ["dose smooth 1" "dose smooth 2" "dose smooth 3" "site=a" "site=b"] <nil>
	// 0.5 2
}
