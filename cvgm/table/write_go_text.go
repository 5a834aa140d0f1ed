package table

// The functions of written files.

const oneDecision = `
// NAME returns WHAT for a row. The argument is a map from the name of each column to its text, as
// in a CSV. All other names are ignored. An error names the column that is missing, or the field
// that has no value.
func NAME(row map[string]string) (float64, error) {
	values, err := Values(models[0].Columns, row)
	if err != nil {
		return math.NaN(), err
	}
	return NAMEValues(values)
}

// NAMEValues does the work of NAME for a list with one value for each entry of Columns: a number
// for a column of numbers, the index of a level for a column of levels, and NaN for a missing
// value.
func NAMEValues(values []float64) (float64, error) {
	return models[0].Decision(values)
}
`

const logMeans = `
// Predict returns the prediction for a row, e to the power Decision.
func Predict(row map[string]string) (float64, error) {
	d, err := Decision(row)
	if err != nil {
		return math.NaN(), err
	}
	return Expected(d)
}

// PredictValues is Predict for the values of Columns, as DecisionValues has them.
func PredictValues(values []float64) (float64, error) {
	d, err := DecisionValues(values)
	if err != nil {
		return math.NaN(), err
	}
	return Expected(d)
}
`

const twoClasses = `
// Class returns the class of a row, by Decision.
func Class(row map[string]string) (string, error) {
	d, err := Decision(row)
	switch {
	case err != nil:
		return "", err
	case d > 0:
		return Classes[1], nil
	}
	return Classes[0], nil
}
`

const twoProbabilities = `
// Probability returns the probability of Classes[1] for a row, 1/(1 + exp(−Decision)).
func Probability(row map[string]string) (float64, error) {
	d, err := Decision(row)
	if err != nil {
		return math.NaN(), err
	}
	return Logistic(d), nil
}
`

const manyClasses = `
// Decisions returns one number for each entry of Classes. The predicted class has the largest
// number. The argument is a map from the name of each column to its text, as in a CSV. All other
// names are ignored. An error names the column that is missing, or the field that has no value.
func Decisions(row map[string]string) ([]float64, error) {
	values, err := Values(models[0].Columns, row)
	if err != nil {
		return nil, err
	}
	return DecisionsValues(values)
}

// DecisionsValues does the work of Decisions for a list with one value for each entry of Columns: a
// number for a column of numbers, the index of a level for a column of levels, and NaN for a
// missing value.
func DecisionsValues(values []float64) ([]float64, error) {
	decisions := make([]float64, len(models))
	for k := range models {
		d, err := models[k].Decision(values)
		if err != nil {
			return nil, err
		}
		decisions[k] = d
	}
	return decisions, nil
}

// Class returns the class with the largest of Decisions, of equal ones the first.
func Class(row map[string]string) (string, error) {
	decisions, err := Decisions(row)
	if err != nil {
		return "", err
	}
	most := 0
	for k, d := range decisions {
		if d > decisions[most] {
			most = k
		}
	}
	return Classes[most], nil
}
`

const manyProbabilities = `
// Probabilities returns the probability of each of Classes: 1/(1 + exp(−decision)) over their sum.
func Probabilities(row map[string]string) ([]float64, error) {
	p, err := Decisions(row)
	if err != nil {
		return nil, err
	}
	Shares(p)
	return p, nil
}
`

const jointProbabilities = `
// Probabilities returns the probability of each of Classes: exp(decision) over their sum.
func Probabilities(row map[string]string) ([]float64, error) {
	p, err := Decisions(row)
	if err != nil {
		return nil, err
	}
	Softmax(p)
	return p, nil
}
`

const intervals = `
// Interval returns the ends of the prediction interval of a row. The level is between .5 and
// HIGHEST; intervals with the level .8 contain eight of ten labels.
func Interval(row map[string]string, level float64) (low, high float64, err error) {
	values, err := Values(models[0].Columns, row)
	if err != nil {
		return math.NaN(), math.NaN(), err
	}
	return IntervalValues(values, level)
}

// IntervalValues is Interval for the values of Columns, as PredictValues has them.
func IntervalValues(values []float64, level float64) (low, high float64, err error) {
	share := LevelShare(level, UNITS)
	if !(level >= LeastLevel && level < 1 && share <= 1) {
		return math.NaN(), math.NaN(), fmt.Errorf("the level is %v: use .5 to HIGHEST", level)
	}
	predictions := make([]float64, len(folds))
	for k := range folds {
		if predictions[k], err = models[1+k].Decision(values); err != nil {
			return math.NaN(), math.NaN(), err
		}
	}
	low, high = EndsAround(folds, predictions, share)
	if !Finite(low) || !Finite(high) {
		return math.NaN(), math.NaN(), fmt.Errorf("the interval is [%v, %v]: scale the target", low, high)
	}
	return low, high, nil
}
`
