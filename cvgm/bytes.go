package cvgm

import (
	"cmp"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

const (
	word       = 8       // bytes of a float64, and at most of an int
	splitBytes = 3 << 10 // of a splitFit and its matrices
)

// A footprint is the memory of a CV, in bytes. Its fields are float64s, because ints could
// overflow.
type footprint struct {
	ownBytes float64 // of the CV without its splits
	splits   float64 // of the fits of the splits, with their learners
	model    float64 // of Final, and of a prediction of all rows with the model of Final
	// The memory that Config.MaxBytes leaves free is divided among numLearners learners, in
	// proportion to their numbers of rows with a weight above 0. The sum of these numbers is
	// totalRows.
	numLearners, totalRows float64
}

// addLearner counts one more learner, with the given number of rows, among the learners that share
// the free memory.
func (n *footprint) addLearner(rows float64) {
	n.numLearners++
	n.totalRows += rows
}

// total returns the largest number of bytes that New, evaluations and Final hold.
func (n footprint) total() int64 { return memory.Bytes(n.ownBytes + n.splits + n.model) }

// maxAllowed returns the number of bytes that c allows.
func (c *Config) maxAllowed() int64 { return memory.Bound(cmp.Or(c.MaxBytes, c.Data.MaxBytes)) }

// Bytes returns an upper bound of the number of bytes that New(c), evaluations and Final hold at
// any one time. The number includes the copies of the rows of X for each split, or the features of
// these rows that a [StoredPreparer] stores. It also includes the Bytes of learners that are
// [learn.SizedLearner]s, and the output of Features. It does not include X itself, the additional
// memory of DataGradient, or the memory that your Preparer or FeatureMap holds besides its output.
// Bytes calls Learner and Dims once each. For a Config without Data.X or Learner, it returns 0.
func (c Config) Bytes() int64 {
	if x, ok := c.Data.X.(*mat.Dense); c.Data.X == nil || ok && x == nil || c.Learner == nil {
		return 0
	}
	learner := c.Learner()
	if learner == nil {
		return 0
	}
	c, _ = c.withoutPlain()
	return c.countCV(learner, c.width(), newLeaveOneOut(&c, learner)).total()
}

// wholeLearner returns the learner as a [learn.SubsetLearner] if it can hold all examples. In this
// case the learner of each split takes over these data, except for the rows on which the split does
// not train. Otherwise wholeLearner returns nil.
func (c *Config) wholeLearner(learner learn.Learner) learn.SubsetLearner {
	if l, ok := learner.(learn.SubsetLearner); ok && !c.Standardise && c.Centring == NoCentring && c.Prepare == nil && !c.views(learner) {
		return l
	}
	return nil
}

// countCV counts the memory of a CV with m features. If atOnce is not nil, it evaluates all splits,
// and no split has a fit of its own.
func (c *Config) countCV(learner learn.Learner, m int, atOnce *leaveOneOut) footprint {
	rows, raw := c.Data.X.Dims()
	weighted := c.Data.Weights != nil
	viewed, all := c.views(learner), learn.Size{}
	if viewed {
		all = c.viewSize(m)
	}
	size := func(counting int) learn.Size {
		if viewed {
			s := all
			s.Counting = counting
			return s
		}
		return learn.Size{Rows: counting, Features: m, Counting: counting, Weighted: weighted}
	}
	params, hyper := learner.Dims(m)
	n, features := float64(rows), float64(m)
	var entries float64
	if _, ok := c.Data.X.(*mat.Dense); !ok && !(viewed && c.Prepare == nil && c.Data.Sparse()) {
		entries += n * float64(raw)
	}
	mapped := 0.0 // entries for each entry of a feature
	if c.Features != nil {
		mapped = 1
		entries += 3*n*features + mapEntries(c.Features, n)
		if c.learned() {
			entries += n*features + 3*float64(c.Features.NumParams()) // of tieTest
		}
	}
	number := footprint{}
	whole := c.wholeLearner(learner) != nil
	if whole || atOnce != nil {
		one := size(rows)
		if atOnce != nil {
			one = atOnce.withFolds(one)
			entries += atOnce.entries(c)
		}
		number.ownBytes += learnerBytes(learner, one)
		number.addLearner(n)
		entries += 6*n + float64(params)
	}
	number.ownBytes += word * entries
	vectors := 2*float64(params) + float64(hyper) + 2*features // θ and its cotangent; means and deviations
	largest := 0.0
	for _, s := range c.Splits {
		if atOnce != nil {
			number.splits += splitBytes
			continue
		}
		t, v := float64(len(s.Train)), float64(len(s.Val))
		train, shape := t, t
		ofSplit := 5*(t+v) + vectors
		if l, ok := learner.(learn.ClassLearner); ok {
			ofSplit += v * float64(2*l.Outputs()+1)
		}
		if viewed {
			ofSplit += n
			number.splits += c.preparedBytes(t+v, m)
		} else if whole { // the learner holds the rows, and their cotangents have the shape of X
			train, shape = 0, n
		}
		if !viewed {
			ofSplit += (train+v+mapped*(shape+v))*features + float64(c.triangleEntries(learner, len(s.Val), m, params))
		}
		fit := size(len(s.Train))
		fit.Predicted = len(s.Val)
		number.splits += splitBytes + word*ofSplit + learnerBytes(learner, fit)
		largest = max(largest, t)
		number.addLearner(t)
	}
	number.model = word*(5*n+vectors) + learnerBytes(learner, size(rows)) + c.preparedBytes(n, m)
	if !viewed {
		number.model = word*(n*features+5*n+vectors) + max(learnerBytes(learner, size(rows)), word*2*n*features)
	}
	if c.Prepare != nil { // the rows of X to which Prepare is fitted, for one split at a time
		number.model += word * max(n, largest) * float64(raw)
	}
	number.addLearner(n)
	return number
}

// viewSize returns the size of the data for a learner that reads all rows in place, with m
// features. The numbers in the size are upper bounds.
func (c *Config) viewSize(m int) learn.Size {
	rows, _ := c.Data.X.Dims()
	s := learn.Size{Rows: rows, Features: m, Sparse: true}
	if c.Prepare == nil {
		s = c.Data.Size()
	} else {
		s.Stored = rows * sample.MostStored(c.Prepare)
	}
	s.Weighted = true // by Rows
	return s
}

// preparedBytes counts the bytes of Prepare's output for the given number of rows with m features.
func (c *Config) preparedBytes(rows float64, m int) float64 {
	if c.Prepare == nil {
		return 0
	}
	all, _ := c.Data.X.Dims()
	return sample.StoredBytes(float64(all), rows, float64(sample.MostStored(c.Prepare)), float64(m))
}

// learnerBytes returns the Bytes of l, or 0 if l is not a [learn.SizedLearner].
func learnerBytes(l learn.Learner, s learn.Size) float64 {
	if l, ok := l.(learn.SizedLearner); ok {
		return float64(l.Bytes(s))
	}
	return 0
}

// mapEntries returns the number of entries that a feature map holds for n rows.
func mapEntries(f FeatureMap, n float64) float64 {
	_, out := f.Dims()
	entries := n*float64(out) + float64(f.NumParams())
	if p, ok := f.(*Perceptron); ok {
		entries += p.hiddenEntries(n)
	}
	return entries
}

// tooLarge returns an error if size exceeds the number of bytes that c allows.
func (c *Config) tooLarge(size int64) error {
	bound := c.maxAllowed()
	if size <= bound {
		return nil
	}
	rows, _ := c.Data.X.Dims()
	return args.Bad("Config", qpdiff.ErrTooLarge, "give fewer features, fewer splits or rows, or raise MaxBytes; linear.ElasticNet needs least for many features, and linear learners for many rows",
		"%s, for %d rows × %d features in %d splits%s", memory.Needs(size, bound), rows, c.width(), len(c.Splits), sample.Widest(c.Prepare))
}
