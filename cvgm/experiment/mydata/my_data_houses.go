package mydata

import (
	"fmt"
	"math"
	"strings"

	"cvgm/synth"
)

// Houses returns a CSV of 80 made-up houses with their prices. Some numeric columns affect the
// price, and three do not. There are also two columns of texts, and missing values.
func Houses() string {
	const rows, noise = 80, 45
	src := synth.NewStream(1, "my data: houses")
	of := func(texts ...string) string { return texts[int(src.Float64()*float64(len(texts)))] }
	premium := map[string]float64{"centre": 60, "harbour": 35, "north": 0, "south": 10, "gas": 0, "heat pump": 25, "oil": -15}
	var b strings.Builder
	b.WriteString("area,rooms,age,distance,door,day,steps,district,heating,price\n")
	for i := range rows {
		area := 40 + 160*src.Float64()
		rooms := math.Round(1 + area/30 + .5*src.NormFloat64())
		age, distance := 90*src.Float64(), .3+12*src.Float64()
		door, day, steps := 1+math.Floor(99*src.Float64()), 1+math.Floor(365*src.Float64()), math.Floor(9*src.Float64())
		district, heating := of("centre", "harbour", "north", "south"), of("gas", "heat pump", "oil")
		price := 180 + 2.4*area + 6*rooms - .9*age - 7*distance + premium[district] + premium[heating] + noise*src.NormFloat64()
		years, where := fmt.Sprintf("%.0f", age), district
		if i%17 == 5 {
			years = "NA"
		}
		if i%29 == 11 {
			where = ""
		}
		fmt.Fprintf(&b, "%.0f,%.0f,%s,%.1f,%.0f,%.0f,%.0f,%s,%s,%.0f\n", area, rooms, years, distance, door, day, steps, where, heating, price)
	}
	return b.String()
}
