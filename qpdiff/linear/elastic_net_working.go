package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
)

const (
	// firstFeatures is the number of features of the first working set. A set with fewer than
	// firstFeatures features may grow by firstFeatures at a time.
	firstFeatures = 32
	// A fit begins with the working set of the last fit if this set is small. It is small if it has
	// at most firstFeatures + spareFeatures·s features, where s is the number of features in the
	// support of the last fit. Otherwise the fit begins with the support alone.
	spareFeatures = 2
	// fetchBlock is the number of columns that are copied together, row by row. It is so small that
	// the cache lines of these columns stay in the processor's first cache.
	fetchBlock = 256
	// If a working set has at most gramPerRow times as many features as there are rows, it keeps its
	// Gram matrix. A larger set keeps its columns, because products with the columns cost less.
	gramPerRow = 2
	// If a feature depends linearly on other features, only its λ2 distinguishes it from them. A λ2 of
	// at most ridgeRounding times the feature's diagonal entry is too small to do so, and a system
	// with this feature counts as singular.
	ridgeRounding = 1e-11
)

// workingSet holds the features on which an elastic net is solved if a Gram matrix of all features
// would be too large. The quadratic problem has only the coordinates of these features. For each
// other feature, the slope shows whether the kink holds the feature at zero. θ depends on the set
// only through the support. (Massias, Gramfort and Salmon 2018, "Celer: a fast solver for the lasso
// with dual extrapolation", also grow a working set.)
type workingSet struct {
	features []int  // ascending; coordinate j of the quadratic problem is features[j]
	inSet    []bool // of all features: whether it is to be in the set

	// Of all features.
	root, xty, l1, l2 []float64
	diag              []float64 // of G; only of the features whose columns have been fetched
	groups            penaltyGroups
	theta, slope      []float64

	// the rows of X that have an entry in the columns, ascending: the rows with a weight above 0, or
	// all rows of a sparse X
	counting    []int
	residual    []float64   // the residual of each of these rows
	fitSize     float64     // bounds the size of the terms of the residual, over √N
	warm        bool        // theta comes from a fit
	slopesValid bool        // residual and slope belong to theta
	loss        float64     // half the mean square of the residual, of the last fit
	entering    []int       // features about to enter
	order       []float64   // work of violators
	spareRooms  [][]float64 // rooms for columns that are not taken
	roomCount   int         // in all
	maxFeatures int         // the most features that were in the set

	pastFits  []pastFit
	oldestFit int // the index of the oldest fit in pastFits
	// the index in pastFits of the last fit, or of the fit from which theta begins; if it is
	// len(pastFits) or more, there is no such fit
	startFit int

	gradients bool // conjugate gradients with sparse columns solve the systems of the set

	// Scratch of gatherSet. The slice oldFeatures has the features of the previous set. The slices
	// oldPlaces and newPlaces have the old and the new positions of the features that stay. The slice
	// productPlaces has the positions of the features whose products with a new feature are computed.
	oldFeatures, oldPlaces, newPlaces, productPlaces []int
}

// listRows lists the rows for which the columns have entries, and returns their number. For a
// sparse X these are all rows of d, and otherwise the rows with a weight above 0.
func (s *workingSet) listRows(d learn.Data, counts []float64) (rows int) {
	s.counting = s.counting[:0]
	for i := range d.Y {
		if d.Sparse() || dense.CountAt(counts, i) > 0 {
			s.counting = append(s.counting, i)
		}
	}
	return len(s.counting)
}

// resize prepares an empty set for a problem with n features and the given number of rows.
func (s *workingSet) resize(n, rows int) {
	dense.GrowAll(n, &s.root, &s.diag, &s.xty, &s.l1, &s.l2, &s.theta, &s.slope)
	s.features = dense.Grow(s.features, n)
	s.inSet, s.residual = dense.Grow(s.inSet, n), dense.Grow(s.residual, rows)
	s.spareRooms, s.roomCount, s.maxFeatures = nil, 0, 0
	s.reset()
}

// workingEntries returns the number of entries that resize and gatherSet allocate for n features.
// The parameter features is the size of the working set, and fetched counts the features whose
// columns have been fetched. The result includes the vectors of the derivatives, but not the Gram
// matrix. The active system is counted by systemEntries, and the entries for weakly active
// coordinates are counted by partRoom.
func workingEntries(rows, n, features, fetched float64) float64 {
	const room = 4.5 // the slice of a column
	return setEntries(rows, n, features) + fetched*(rows+room) + kernelEntries(rows, n, features)
}

// equalVectors is the number of vectors of n entries that an elasticNetFit allocates for equal
// features.
const equalVectors = 3 + 3 + 1

// setEntries is workingEntries without the storage of the columns.
func setEntries(rows, n, features float64) float64 {
	const all, coordinates = 18 + equalVectors, 34 // vectors of all features; of the set
	const pair = 2 * pastFits                      // vectors of a support and its θ
	return all*n + coordinates*features + 4*rows + pair*min(features, mostKept(rows, n))
}

// gramEntries returns the number of entries of the Gram matrix of a working set with the given
// number of features. It includes the previous Gram matrix, which exists while the set grows.
func gramEntries(rows, features float64) float64 {
	if features > gramPerRow*rows {
		return 0
	}
	return 2.25 * features * features
}

// reset forgets the warm start.
func (s *workingSet) reset() {
	s.features, s.warm = s.features[:0], false
	s.forget()
	clear(s.theta)
}

// forget deletes the list of past fits.
func (s *workingSet) forget() {
	s.slopesValid, s.pastFits, s.oldestFit, s.startFit = false, s.pastFits[:0], 0, 0
}

// renew forgets the columns of q and the past fits, because the data have changed.
func (s *workingSet) renew(q *piecewiseQP) {
	s.features = s.features[:0]
	s.forget()
	if q.sparse == nil {
		if len(q.columns) != len(s.root) {
			q.columns = make([][]float64, len(s.root))
		}
		clear(s.inSet)
		s.reclaim(q)
	}
	q.kernel.Forget()
}

// release frees the storage of all earlier sets. It keeps the sum in q.kernel, because the rounding
// of this sum affects the solutions.
func (s *workingSet) release(q *piecewiseQP) {
	clear(q.columns)
	s.spareRooms, s.roomCount = nil, 0
	q.g, q.a = nil, nil
}

// room allocates or reuses storage for the columns of the features in s.entering.
func (s *workingSet) room(q *piecewiseQP) {
	rows := len(s.residual)
	if len(s.spareRooms) < len(s.entering) && q.kernel.Empty() {
		s.reclaim(q)
	}
	lack := max(0, len(s.entering)-len(s.spareRooms))
	s.roomCount += lack
	block := make([]float64, lack*rows)
	for _, j := range s.entering {
		if last := len(s.spareRooms) - 1; last >= 0 {
			q.columns[j], s.spareRooms = s.spareRooms[last], s.spareRooms[:last]
			continue
		}
		q.columns[j], block = block[:rows:rows], block[rows:]
	}
}

// reclaim collects the storage of the columns of features outside the set, for reuse.
func (s *workingSet) reclaim(q *piecewiseQP) {
	taken := 0
	for j, c := range q.columns {
		if c != nil && !s.inSet[j] {
			taken++
		}
	}
	s.spareRooms = slices.Grow(s.spareRooms, taken)
	for j, c := range q.columns {
		if c != nil && !s.inSet[j] {
			s.spareRooms, q.columns[j] = append(s.spareRooms, c), nil
		}
	}
}

// startFromPast chooses the features with which a fit begins. They are the features without a kink,
// and the features of the last fit's working set. If the support of the last fit is much smaller
// than this set, startFromPast uses the support in place of the set. If recall prefers the support
// of an earlier fit, startFromPast uses that support.
//
// Features of the support whose λ2 is now too small are open: they may depend on each other. If
// there are more open features than rows, startFromPast forgets the last fit, because these
// features would otherwise leave one by one, with a factorisation each.
func (s *workingSet) startFromPast(rmsY float64) {
	s.recall()
	support, open := 0, 0
	for j, l1 := range s.l1 {
		if s.theta[j] == 0 {
			continue
		}
		if l1 > s.root[j]*rmsY { // certainly zero: see clipPenalty
			s.theta[j], s.slopesValid = 0, false
		} else {
			support++
			if s.l2[j] <= ridgeRounding*s.root[j]*s.root[j] {
				open++
			}
		}
	}
	if open > len(s.residual) {
		s.reset()
	}
	keep := len(s.features) <= firstFeatures+spareFeatures*support
	clear(s.inSet)
	for _, j := range s.features {
		s.inSet[j] = keep
	}
	for j, l1 := range s.l1 {
		s.inSet[j] = s.inSet[j] || s.theta[j] != 0 || l1 == 0
	}
	if s.entering = s.entering[:0]; !s.warm {
		copy(s.slope, s.xty)
		s.fitSize = rmsY
		s.entering = s.violators(s.entering, firstFeatures)
	}
}

// penalty returns the smallest ratio λ2_j/G_jj of the features j in the set.
func (s *workingSet) penalty() float64 {
	least := math.Inf(1)
	for _, j := range s.features {
		least = min(least, s.l2[j]/s.diag[j])
	}
	return least
}

// violators appends features outside the set to its first argument and returns the list. These are
// features whose slopes exceed the strengths of their kinks by more than rounding. violators takes
// at most maxCount features, and prefers those with the largest excess. The excess is compared in
// units in which all features have the same size.
func (s *workingSet) violators(enter []int, maxCount int) []int {
	excess := func(j int) float64 { return math.Abs(s.slope[j]) - s.l1[j] }
	enter = slices.Grow(enter, len(s.inSet))
	for j, in := range s.inSet {
		if !in && excess(j) > admitTol*s.root[j]*s.fitSize {
			enter = append(enter, j)
		}
	}
	if len(enter) <= maxCount {
		return enter
	}
	s.order = dense.Grow(s.order, len(enter))[:0]
	for _, j := range enter {
		s.order = append(s.order, excess(j)/s.root[j])
	}
	slices.Sort(s.order)
	least, kept := s.order[len(enter)-maxCount], enter[:0]
	for _, j := range enter {
		if excess(j)/s.root[j] >= least && len(kept) < maxCount {
			kept = append(kept, j)
		}
	}
	return kept
}

// pastFit holds three results of an earlier fit: the support, the θ on the support, and the loss.
type pastFit struct {
	features []int
	theta    []float64
	loss     float64 // half the mean square of the residual
}

const (
	// pastFits is the number of earlier fits that are kept as starts of later fits. An earlier fit
	// helps a search that moves far away and later returns to hyperparameters near this fit.
	pastFits = 12
	// A fit is kept only if the size of its support is at most pastPerRow times the number of rows, or
	// at most pastShare times the number of features. The search for a larger support is fast from any
	// start.
	pastPerRow, pastShare = 4, .25
)

// mostKept returns the size of the largest support that a past fit may have.
func mostKept(rows, n float64) float64 { return min(n, max(pastPerRow*rows, pastShare*n)) }

// remember adds this fit to the past fits. If the fit has the same support as the fit from which it
// began, it replaces that fit. Otherwise it replaces the oldest fit once the list is full.
func (s *workingSet) remember(loss float64) {
	s.loss = loss
	support := 0
	for _, j := range s.features {
		if s.theta[j] != 0 {
			support++
		}
	}
	if support > int(mostKept(float64(len(s.residual)), float64(len(s.theta)))) {
		s.startFit = pastFits
		return
	}
	if s.startFit >= len(s.pastFits) || !s.pastFits[s.startFit].hasSupport(s.theta, support) {
		s.startFit = s.oldestFit
		s.oldestFit = (s.oldestFit + 1) % pastFits
		if s.startFit == len(s.pastFits) {
			s.pastFits = slices.Grow(s.pastFits, 1)[:s.startFit+1] // uses the storage of the replaced fit
		}
	}
	f := &s.pastFits[s.startFit]
	f.features, f.theta, f.loss = f.features[:0], f.theta[:0], loss
	for _, j := range s.features {
		if t := s.theta[j]; t != 0 {
			f.features, f.theta = append(f.features, j), append(f.theta, t)
		}
	}
}

// hasSupport reports whether the support of f is also the support of theta. The parameter support
// is the number of features in the support of theta.
func (f *pastFit) hasSupport(theta []float64, support int) bool {
	return len(f.features) == support && !slices.ContainsFunc(f.features, func(j int) bool { return theta[j] == 0 })
}

// recall sets theta to the θ of a past fit if this lowers the objective at the present
// hyperparameters. Of several past fits it takes the fit with the lowest objective.
func (s *workingSet) recall() {
	if !s.warm {
		return
	}
	penalty := func(j int, t float64) float64 { return s.l1[j]*math.Abs(t) + s.l2[j]*t*t/2 }
	best, least := -1, s.loss
	for j, t := range s.theta {
		if t != 0 {
			least += penalty(j, t)
		}
	}
	for k := range s.pastFits {
		f := &s.pastFits[k]
		value := f.loss
		for i, j := range f.features {
			value += penalty(j, f.theta[i])
		}
		if value < least {
			best, least = k, value
		}
	}
	if best < 0 {
		return
	}
	s.startFit, s.slopesValid = best, false
	clear(s.theta)
	dense.Scatter(s.theta, s.pastFits[best].theta, s.pastFits[best].features)
}
