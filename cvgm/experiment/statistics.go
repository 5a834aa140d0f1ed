package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Estimate is the mean of independent repetitions of a measurement. The scale of the estimate
// determines how its confidence interval is computed.
type Estimate struct {
	Mean   float64
	Margin float64 // half the length of the 95 % confidence interval, by Student's t; NaN if there is only one repetition
	N      int
	Scale  Scale // determines the method of the interval
}

// A Scale is the set of possible values of a quantity. The confidence interval of an estimate on a
// scale stays within the set.
type Scale int

// These constants are the scales. The comment of each scale gives the possible values, and then the
// method of the interval.
const (
	AnyNumber Scale = iota // any number; Student's t
	Share                  // a share of the repetitions, from 0 to 1; Wilson's interval
	Positive               // a number above 0, such as a ratio or a risk; Student's t for the logarithm, with the delta method
)

// EstimateOf returns the estimate from the results of independent repetitions, on the scale
// AnyNumber.
func EstimateOf(v []float64) Estimate {
	mean, sd := stat.MeanStdDev(v, nil)
	e := Estimate{Mean: mean, Margin: math.NaN(), N: len(v)}
	if len(v) > 1 {
		e.Margin = e.student(.95) * sd / math.Sqrt(float64(len(v)))
	}
	return e
}

// ShareOf returns the share of independent repetitions in which a condition holds. The slice v has
// one entry for each repetition: 1 if the condition holds, 0 if it does not, and ½ for a tie.
func ShareOf(v []float64) Estimate {
	e := EstimateOf(v)
	e.Scale = Share
	return e
}

// RatioOf returns the estimate from independent repetitions of a positive quantity.
func RatioOf(v []float64) Estimate {
	e := EstimateOf(v)
	e.Scale = Positive
	return e
}

// The map students stores computed quantiles of Student's t, because each computation inverts an
// incomplete beta function. The claims about several draws need only a few different quantiles, but
// need each of them hundreds of thousands of times.
var students sync.Map // maps studentAt to float64

// studentAt is the key of a stored quantile: a number of repetitions, and the level of a two-sided
// interval.
type studentAt struct {
	n     int
	level float64
}

// student returns the quantile of Student's t that gives a two-sided interval of the given level:
// mean ± quantile·(standard error).
func (e Estimate) student(level float64) float64 {
	at := studentAt{e.N, level}
	if q, ok := students.Load(at); ok {
		return q.(float64)
	}
	q := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(e.N - 1)}.Quantile((1 + level) / 2)
	students.Store(at, q)
	return q
}

// Interval returns the ends of the two-sided confidence interval for a level such as .95. The
// interval of a share is from Wilson, "Probable inference, the law of succession, and statistical
// inference" (1927). If the estimate has no interval (see [Estimate.Repeated]), both ends are the
// mean.
func (e Estimate) Interval(level float64) (low, high float64) {
	if !e.Repeated() {
		return e.Mean, e.Mean
	}
	half := e.Margin
	if level != .95 { // for .95, the ends keep the bits of Mean ∓ Margin
		half *= e.student(level) / e.student(.95)
	}
	switch {
	case e.Scale == Positive && e.Mean > 0:
		return e.Mean * math.Exp(-half/e.Mean), e.Mean * math.Exp(half/e.Mean)
	case e.Scale != Share:
		return e.Mean - half, e.Mean + half
	}
	return Wilson(e.Mean, float64(e.N), level)
}

// Wilson returns the ends of the two-sided confidence interval for a share of n independent
// repetitions.
func Wilson(share, n, level float64) (low, high float64) {
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	middle := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	// The exact lower end is between 0 and share, and the exact upper end is between share and 1.
	// Here min and max only remove rounding errors.
	return min(share, max(0, middle-half)), max(share, min(1, middle+half))
}

// Chance returns a probability under the assumption that v is the true value. It is the probability
// that another estimate lies on the same side of v as e, and at least as far from v. If v is an end
// of the interval of level p, Chance returns (1−p)/2. It returns 0 if v is outside the scale. The
// estimate must have an interval.
func (e Estimate) Chance(v float64) float64 {
	switch {
	case e.Mean == v:
		return .5
	case e.Scale == Share && (v <= 0 || v >= 1), e.Scale == Positive && v <= 0:
		return 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(e.N - 1)}
	switch se := e.Margin / e.student(.95); {
	case e.Scale == Share:
		return distuv.UnitNormal.Survival(math.Abs(e.Mean-v) / e.SEAt(v))
	case e.Scale == Positive && e.Mean > 0:
		return t.Survival(math.Abs(math.Log(e.Mean/v)) * e.Mean / se)
	default:
		return t.Survival(math.Abs(e.Mean-v) / se)
	}
}

// Shifted returns the estimate with its mean moved by z·se, for the standard error se. On the scale
// Positive, the mean is multiplied by a factor instead. On the scale Share, the mean stays between
// 0 and 1.
func (e Estimate) Shifted(z, se float64) Estimate {
	switch {
	case e.Scale == Share:
		e.Mean = min(1, max(0, e.Mean+z*se))
	case e.Scale == Positive && e.Mean > 0:
		e.Mean *= math.Exp(z * se / e.Mean)
	default:
		e.Mean += z * se
	}
	return e
}

// Sign compares the 95 % confidence interval of Student's t with 0. It returns 1 if the whole
// interval lies above 0, −1 if the whole interval lies below 0, and otherwise 0. It uses this
// interval on every Scale.
func (e Estimate) Sign() int {
	switch {
	case e.Mean > e.Margin:
		return 1
	case e.Mean < -e.Margin:
		return -1
	}
	return 0
}

// Times multiplies the mean and the margin by a factor. The result is on the scale AnyNumber.
func (e Estimate) Times(factor float64) Estimate {
	return Estimate{Mean: factor * e.Mean, Margin: math.Abs(factor) * e.Margin, N: e.N}
}

// Repeated reports whether the estimate has an interval. An estimate has an interval if its
// repetitions differ. A share has an interval even if all repetitions agree.
func (e Estimate) Repeated() bool {
	return e.N > 1 && (e.Margin > 0 || e.Scale == Share && !math.IsNaN(e.Margin))
}

// SE returns the standard error of the mean. It returns 0 if the estimate has no interval. For a
// share, the standard error is computed from the interval.
func (e Estimate) SE() float64 {
	switch {
	case !e.Repeated():
		return 0
	case e.Scale == Share:
		low, high := e.Interval(.95)
		return (high - low) / 2 / distuv.UnitNormal.Quantile(.975)
	}
	return e.Margin / e.student(.95)
}

// SEAt returns the standard error that the mean would have if v were the true value. The standard
// error depends on the scale:
//
//   - Share: the standard error of a binomial share.
//   - Positive: the error is proportional to v.
//   - AnyNumber: the error is [Estimate.SE].
//
// SEAt returns 0 if the estimate has no interval, or if v is outside the scale.
func (e Estimate) SEAt(v float64) float64 {
	switch {
	case !e.Repeated():
		return 0
	case e.Scale == Share:
		return math.Sqrt(max(0, v*(1-v)) / float64(e.N))
	case e.Scale == Positive && e.Mean > 0:
		return e.SE() / e.Mean * max(0, v)
	}
	return e.SE()
}

// Deviation returns the standard deviation of the repetitions.
func Deviation(e Estimate) float64 { return e.Margin / e.student(.95) * math.Sqrt(float64(e.N)) }

// ErrSpread is the error for estimates that Pool cannot combine.
var ErrSpread = errors.New("experiment: estimates to pool: some have a spread and some have none: compute all by one program")

// mostRepetitions is a number that is larger than the number of repetitions of any experiment. The
// sum of many such numbers does not overflow.
const mostRepetitions = math.MaxInt32

// Check returns an error for an estimate that cannot come from repetitions of a measurement. The
// number of repetitions must be from 1 to 2³¹−1. The scale must exist, and the mean must be a value
// on this scale. The margin must not be negative or infinite, and must be NaN for one repetition.
// If nothing could be measured, the mean and the margin may both be NaN.
func (e Estimate) Check() error {
	switch {
	case e.Scale < AnyNumber || e.Scale > Positive:
		return fmt.Errorf("the scale %d of an estimate does not exist: use %d to %d", e.Scale, AnyNumber, Positive)
	case e.N < 1 || e.N > mostRepetitions:
		return fmt.Errorf("an estimate has %d repetitions: give from 1 to %d", e.N, mostRepetitions)
	case math.IsInf(e.Mean, 0), e.Scale == Share && (e.Mean < 0 || e.Mean > 1), e.Scale == Positive && e.Mean < 0:
		return fmt.Errorf("an estimate is %v, outside of its scale: give the mean of the repetitions", e.Mean)
	case e.Margin < 0 || math.IsInf(e.Margin, 0) || (e.N == 1 || math.IsNaN(e.Mean)) && !math.IsNaN(e.Margin):
		return fmt.Errorf("the margin of an estimate from %d repetitions is %v: give half of its interval, NaN for one repetition", e.N, e.Margin)
	}
	return nil
}

// Pool combines several estimates of one quantity. It returns the estimate from all their
// repetitions. If each estimate has only one repetition, the means of the estimates are the
// repetitions. If these means are all equal, Pool returns the first estimate. If some estimates
// have a margin and others have none, Pool returns ErrSpread. It also returns an error if there are
// no estimates, if [Estimate.Check] returns an error, or if a sum overflows.
func Pool(all ...Estimate) (Estimate, error) {
	if len(all) == 0 {
		return Estimate{}, errors.New("experiment: no estimate to pool: give at least one")
	}
	var single []float64
	var p Estimate
	for _, e := range all {
		if err := e.Check(); err != nil {
			return Estimate{}, fmt.Errorf("experiment: estimates to pool: %w", err)
		}
		if math.IsNaN(e.Margin) {
			single = append(single, e.Mean)
		}
		p.N += e.N
		p.Mean += float64(e.N) * e.Mean
		p.Scale = e.Scale
	}
	if len(single) > 0 {
		if len(single) < len(all) || p.N > len(all) {
			return Estimate{}, ErrSpread
		}
		if slices.Min(single) == slices.Max(single) {
			return all[0], nil
		}
		p = EstimateOf(single)
		p.Scale = all[0].Scale
		return p.finite()
	}
	p.Mean /= float64(p.N)
	var squares float64
	for _, e := range all {
		squares += float64(e.N-1)*Deviation(e)*Deviation(e) + float64(e.N)*(e.Mean-p.Mean)*(e.Mean-p.Mean)
	}
	p.Margin = p.student(.95) * math.Sqrt(squares/float64(p.N-1)/float64(p.N))
	return p.finite()
}

// finite returns the estimate e. If a sum of finite numbers has overflowed in e, it returns an
// error.
func (e Estimate) finite() (Estimate, error) {
	if math.IsInf(e.Mean, 0) || math.IsInf(e.Margin, 0) || math.IsNaN(e.Margin) && !math.IsNaN(e.Mean) {
		return Estimate{}, fmt.Errorf("experiment: estimates to pool: their sums overflow (mean %v, margin %v): use smaller units", e.Mean, e.Margin)
	}
	return e, nil
}

// Difference returns a − b for two independent means. If a and b are from the same data, the
// returned interval is too wide.
func Difference(a, b Estimate) Estimate {
	return Estimate{Mean: a.Mean - b.Mean, Margin: math.Hypot(a.Margin, b.Margin), N: a.N}
}

// MeanOf returns the mean of several independent means. All means must have the same number of
// repetitions.
func MeanOf(all []Estimate) Estimate {
	var m Estimate
	for _, e := range all {
		m.Mean, m.Margin, m.N = m.Mean+e.Mean/float64(len(all)), math.Hypot(m.Margin, e.Margin/float64(len(all))), m.N+e.N
	}
	return m
}

// A Comparison is a paired comparison of two methods by their losses.
type Comparison struct {
	Difference Estimate // mean difference of the losses, first minus second
	Wins       float64  // share of repetitions in which the first loss is lower; a tie (see TieTol) counts as half a repetition
}

// TieTol is a relative difference of losses. Two losses that differ by at most TieTol are a tie. If
// two searches end at the same point, their losses still differ a little because of their stopping
// rules. This difference is smaller than TieTol. The losses of two methods on one data set differ
// by far more.
const TieTol = 1e-6

// Wins compares two losses in each repetition. The result is 1 if the first loss is lower, ½ for a
// tie, and otherwise 0.
func Wins(first, second []float64) []float64 {
	wins := make([]float64, len(first))
	for i, a := range first {
		switch b := second[i]; {
		case math.Abs(a-b) <= TieTol*math.Abs(b):
			wins[i] = .5
		case a < b:
			wins[i] = 1
		}
	}
	return wins
}

// Compare compares the losses of two methods on the same repetitions.
func Compare(first, second []float64) Comparison {
	return Comparison{EstimateOf(Less(first, second)), floats.Sum(Wins(first, second)) / float64(len(first))}
}

// Less returns the difference first − second in each repetition.
func Less(first, second []float64) []float64 {
	return floats.SubTo(make([]float64, len(first)), first, second)
}

// FromEnd returns the k-th value of v, counted from the end. If v has fewer than k values, it
// returns NaN.
func FromEnd(v []float64, k int) float64 {
	if len(v) < k {
		return math.NaN()
	}
	return v[len(v)-k]
}

// MedianValue returns the median of any number of values. The function in package stat of gonum
// needs an odd number of values.
func MedianValue(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// A Median is the median of independent repetitions.
type Median struct {
	Median    float64
	Low, High float64 // ends of a confidence interval of at least 95 %, for any distribution; infinite for fewer than six values
	N         int
}

// MedianOf returns the median with its interval. The ends of the interval are the k-th lowest and
// the k-th highest value, for the largest k that gives the required level.
func MedianOf(v []float64) Median {
	n := len(v)
	m := Median{Median: MedianValue(v), Low: math.Inf(-1), High: math.Inf(1), N: n}
	s := slices.Sorted(slices.Values(v))
	below := distuv.Binomial{N: float64(n), P: .5}
	for k := 0; 2*k < n && below.CDF(float64(k)) <= .025; k++ {
		m.Low, m.High = s[k], s[n-1-k]
	}
	return m
}

// AtStep returns the value at index n along a search. After the end of the search, it returns the
// last value.
func AtStep[T any](values []T, n int) T { return values[min(n, len(values)-1)] }

// Cosine returns the cosine of the angle between two vectors.
func Cosine(a, b []float64) float64 {
	return floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
}
