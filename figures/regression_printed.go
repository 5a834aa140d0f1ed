package figures

import (
	"fmt"

	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/figures/internal/chart"
)

func init() {
	register(func(r *elasticnet.RegressionPrinted) []Output { return []Output{RegressionPrintedTable(r)} })
}

// RegressionPrintedTable compares two ways to draw the paper's regression data: the command that
// the paper prints, and the paper's code.
func RegressionPrintedTable(r *elasticnet.RegressionPrinted) *Table {
	p := r.Params
	t := &Table{
		Name: "regression_printed", Caption: fmt.Sprintf("Test losses with the command that the paper prints and with its code's data, over %d data sets", p.Seeds),
		Header: []string{"Test rows", "CVGM", "Least squares", "True coefficients / noise variance", "CVGM minus the code's rows"},
		Note: fmt.Sprintf("Mean squared errors on %d test examples, and on %d in the first row, the code's. The errors of the true coefficients are ratios to the variance of the noise. The training rows are the same. In the last row the labels are not divided by %g. "+
			"The true coefficients are those that made the training labels. Means with 95 %% confidence intervals.", p.Test, p.Samples-p.Train, p.Scale),
	}
	for k, m := range r.Tests {
		row := []any{m.Name, chart.Estimated(m.CVGMMean, 3), chart.Estimated(m.SquaresMean, 3), chart.Estimated(m.CoefMean, 3), nil}
		if k > elasticnet.TestOtherRows {
			row[4] = chart.Estimated(m.CVGMLessCode.Difference, 3)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
