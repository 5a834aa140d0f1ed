package table_test

import (
	"fmt"
	"strings"

	"cvgm/cvgm/table"
)

// Coefficients returns the coefficients of a linear model in the units of the file.
func ExampleFeature() {
	tbl, err := table.ReadCSV(strings.NewReader("weight,price\n1000 g,3\n2 kg,5\n3 kg,7\n"), "price")
	if err != nil {
		panic(err)
	}
	pipeline := fitTwo(tbl)
	features, err := pipeline.Features()
	if err != nil {
		panic(err)
	}
	intercept, coefficients, err := pipeline.Coefficients()
	if err != nil {
		panic(err)
	}
	for j, f := range features {
		fmt.Printf("%.3f + %.3f · %s of column %s\n", intercept, coefficients[j], f.Name, f.Column)
	}
	// Output: 1.000 + 2.000 · weight of column weight
}
