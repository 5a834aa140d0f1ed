package table_test

import (
	"fmt"
	"strings"

	"cvgm/cvgm/table"
)

// The example prints the features of a table with a column of texts and a missing number.
func Example() {
	const text = "rooms,heating,price\n3,wood,200\n?,gas,250\n5,gas,320\n4,wood,260\n"
	houses, err := table.CSV{Target: "price", Missing: table.MissingIsMean}.Read(strings.NewReader(text))
	if err != nil {
		panic(err)
	}
	data, encoder, err := houses.Data()
	if err != nil {
		panic(err)
	}
	fmt.Println(encoder.Names(), data.Y)
	// Output: [rooms heating=wood] [200 250 320 260]
}
