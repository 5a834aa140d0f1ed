package portable

import (
	"fmt"
	"math"
	"strings"
)

// A Model is the prediction function of a fitted linear model or kernel machine. For the features f
// of the columns, the features of the learner are (f − Mean)/Deviation.
type Model struct {
	Columns         []Column
	Mean, Deviation []float64
	Constant        float64
	Weights         []float64 // of a linear model
	Stored          bool      // the terms of Mean are in Constant, so features that are 0 add nothing
	// Kernel is nil for a linear model. A kernel machine has a coefficient for each row of Points.
	Kernel               func(x, z []float64) float64
	Coefficients, Points []float64
	Intercept            float64 // added to the sum of a kernel machine
}

// Values returns the values of a row. The map row holds texts by column name, as in the file. Names
// that are not in columns are ignored.
func Values(columns []Column, row map[string]string) ([]float64, error) {
	values := make([]float64, len(columns))
	for j := range columns {
		c := &columns[j]
		field, ok := row[c.Source]
		if !ok {
			return nil, fmt.Errorf("the row lacks column %q: add it", c.Source)
		}
		field = strings.TrimSpace(field)
		v, fault := c.Value(field)
		if fault != None {
			return nil, fault.Error(c, field)
		}
		values[j] = v
	}
	return values, nil
}

// Decision returns the prediction for the values of the columns.
func (m *Model) Decision(values []float64) (float64, error) {
	if len(values) != len(m.Columns) {
		return math.NaN(), fmt.Errorf("%d values instead of %d: give one for each column", len(values), len(m.Columns))
	}
	x := make([]float64, len(m.Mean))
	d := m.Constant
	set := func(k int, v float64) {
		if x[k] = v; m.Stored {
			d += float64(m.Weights[k] * (v / m.Deviation[k]))
		}
	}
	if j, fault := Features(m.Columns, values, set); fault != None {
		return math.NaN(), fault.Error(&m.Columns[j], fmt.Sprint(values[j]))
	}
	if !m.Stored {
		for j := range x {
			if x[j] = (x[j] - m.Mean[j]) / m.Deviation[j]; !Finite(x[j]) {
				return math.NaN(), fmt.Errorf("feature %d overflows: scale its column", j)
			}
		}
	}
	switch {
	case m.Kernel != nil:
		for i, c := range m.Coefficients {
			d += float64(c * m.Kernel(m.Points[i*len(x):(i+1)*len(x)], x))
		}
		d += m.Intercept
	case !m.Stored:
		for j, v := range x {
			d += float64(m.Weights[j] * v)
		}
	}
	if !Finite(d) {
		return math.NaN(), fmt.Errorf("the prediction is %v: scale the columns", d)
	}
	return d, nil
}
