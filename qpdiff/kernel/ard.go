package kernel

import (
	"fmt"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
)

// ARD is a kernel that depends only on a weighted distance between two rows. It has one width for
// each feature or for each group of features (automatic relevance determination, Neal 1996):
//
//	k(x, z) = f(q),   q = Σ_j γ_j (x_j − z_j)²
//
// with f given by Shape. The parameters are γ ≥ 0, one for each group. A feature of width ℓ has γ =
// 1/(2ℓ²); the unit of γ is 1 divided by the square of the feature's unit. A γ of 0 removes the
// features of its group. With the Shape Gaussian and equal γ, ARD is the kernel [RBF].
//
// The tuner of package tune finds the γ of a [Ridge] or a [SVM]. The search starts from one width
// for all features.
//
// For n features, a row of m kernel values costs m·n multiplications. The derivatives of the row
// with respect to all γ cost m·n more. Neither computation stores a number for each pair of a row
// and a feature.
type ARD struct {
	Shape Shape // zero: Gaussian
	// Groups[j] is the index of the group of feature j. The indices start at 0 and have no gaps. If
	// Groups is nil, each feature is a group by itself.
	Groups []int
}

// Shape selects the function f of an [ARD] kernel. A smoother f gives smoother predictions.
type Shape int

const (
	// Gaussian is f(q) = exp(−q).
	Gaussian Shape = iota
	// Matern32 is the Matérn kernel of smoothness 3/2: f(q) = (1 + s)·exp(−s), where s = √(6q).
	Matern32
	// Matern52 is the Matérn kernel of smoothness 5/2: f(q) = (1 + s + s²/3)·exp(−s), where s =
	// √(10q).
	Matern52
	shapes
)

// String returns the name of the shape.
func (s Shape) String() string {
	if s < 0 || s >= shapes {
		return fmt.Sprintf("Shape(%d)", int(s))
	}
	return [shapes]string{"Gaussian", "Matern32", "Matern52"}[s]
}

// value returns f(q).
func (s Shape) value(q float64) float64 {
	if s == Gaussian {
		return dense.ExpNegative(q)
	}
	r := s.root(q)
	e := math.Exp(-r)
	switch {
	case e == 0: // r may be +Inf
		return 0
	case s == Matern32:
		return (1 + r) * e
	}
	return (1 + r*(1+r/3)) * e
}

// values replaces each q by f(q).
func (s Shape) values(q []float64) {
	if s == Gaussian {
		dense.ExpNegatives(q)
		return
	}
	for i, v := range q {
		q[i] = s.value(v)
	}
}

// slopes replaces q[i] by factors[i]·f′(q[i]). Each values[i] must be f(q[i]). For the Gaussian it
// does not read q.
func (s Shape) slopes(q, factors, values []float64) {
	for i, v := range values {
		if s == Gaussian {
			q[i] = -factors[i] * v
		} else {
			q[i] = factors[i] * s.slope(q[i], v)
		}
	}
}

// slope returns f′(q), given f(q). It is finite at q = 0.
func (s Shape) slope(q, value float64) float64 {
	if s == Gaussian {
		return -value
	}
	r := s.root(q)
	e := math.Exp(-r)
	switch {
	case e == 0:
		return 0
	case s == Matern32:
		return -3 * e
	}
	return -5. / 3 * (1 + r) * e
}

// The method root returns s(q), the argument of the exponential function.
func (s Shape) root(q float64) float64 {
	if s == Matern32 {
		return math.Sqrt(6 * q)
	}
	return math.Sqrt(10 * q)
}

// NumParams returns the number of groups.
func (k ARD) NumParams(n int) int {
	if k.Groups == nil {
		return n
	}
	groups := 0
	for _, g := range k.Groups {
		groups = max(groups, g+1)
	}
	return groups
}

// Check returns an error for a γ < 0, for an unknown Shape, and for Groups with gaps.
func (k ARD) Check(params []float64) error {
	if k.Shape < 0 || k.Shape >= shapes {
		return check.ArgErrorf("ARD.Shape", qpdiff.ErrDomain, "use Gaussian, Matern32 or Matern52", "is %d", int(k.Shape))
	}
	for g, v := range params {
		if v < 0 {
			return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give the ARD kernel a γ at or above 0", "holds %v as γ[%d]", v, g)
		}
		if k.Groups != nil && !slices.Contains(k.Groups, g) {
			return check.ArgErrorf("ARD.Groups", qpdiff.ErrDomain, "number the groups from 0 on without a gap", "has no feature in group %d of %d", g, len(params))
		}
	}
	return nil
}

// checkFeatures returns an error if Groups do not fit rows of n features.
func (k ARD) checkFeatures(n int) error {
	if k.Groups == nil {
		return nil
	}
	if len(k.Groups) != n {
		return check.ArgErrorf("ARD.Groups", qpdiff.ErrShape, "give the group of each feature", "has %d entries for %d features", len(k.Groups), n)
	}
	if j := slices.IndexFunc(k.Groups, func(g int) bool { return g < 0 || g >= n }); j >= 0 {
		return check.ArgErrorf("ARD.Groups", qpdiff.ErrDomain, "number the groups from 0 on without a gap", "holds %d at index %d, for %d features", k.Groups[j], j, n)
	}
	return nil
}

// checkFeatures returns an error if the settings of the kernel do not fit rows of n features.
func checkFeatures(k Kernel, n int) error {
	if a, ok := k.(ARD); ok {
		return a.checkFeatures(n)
	}
	return nil
}

// group returns the group of feature j.
func (k ARD) group(j int) int {
	if k.Groups == nil {
		return j
	}
	return k.Groups[j]
}

// Eval returns f(q).
func (k ARD) Eval(params, x, z []float64) float64 {
	return k.Shape.value(k.distance(params, x, z))
}

// distance returns q.
func (k ARD) distance(params, x, z []float64) float64 {
	var q float64
	for j, v := range x {
		if w := params[k.group(j)]; w != 0 { // 0 times a distance that overflows is not a number
			v -= z[j]
			q += float64(w * v * v)
		}
	}
	return q
}

// Grad adds s·f′(q) times the derivative of q to each destination. The derivative is (x_j − z_j)²
// in γ_j, 2γ_j(x_j − z_j) in x_j, and −2γ_j(x_j − z_j) in z_j.
func (k ARD) Grad(dparams, dx, dz []float64, s, value float64, params, x, z []float64) {
	if s *= k.Shape.slope(k.distance(params, x, z), value); s == 0 {
		return // also if the distance overflows, which makes f′ 0
	}
	for j, v := range x {
		g := k.group(j)
		if v -= z[j]; dparams != nil {
			dparams[g] += s * v * v
		}
		v *= 2 * s * params[g]
		if dx != nil {
			dx[j] += v
		}
		if dz != nil {
			dz[j] -= v
		}
	}
}

// distances computes the weighted distance q between x and row i for each entry dst[i]. The bits
// are the same as with the method distance. Feature j of row i is columns[j·stride + i].
func (k ARD) distances(dst, params, x, columns []float64, stride int) {
	clear(dst)
	if k.Groups == nil {
		dense.AddWeightedSquares(dst, params, x, columns, stride)
		return
	}
	var weights [64]float64
	for j := range x {
		at := j % len(weights)
		if weights[at] = params[k.Groups[j]]; at == len(weights)-1 || j == len(x)-1 {
			from := j - at
			dense.AddWeightedSquares(dst, weights[:at+1], x[from:j+1], columns[from*stride:], stride)
		}
	}
}

// addSquares computes Σ_i s_i (x_j − z_ij)² for each feature j, and adds this sum to the entry of
// dparams for the group of the feature. Here z_ij is feature j of row rows[i]. Its place is
// columns[j·stride + rows[i]]. Rows with s_i = 0 are left out, because their squares may overflow.
func (k ARD) addSquares(dparams, s, x, columns []float64, stride int, rows []int) {
	first := rows[0]
	adjacent := rows[len(rows)-1]-first == len(rows)-1
	if adjacent && k.Groups == nil {
		dense.AddPairSquares(dparams, s, x, columns[first:], stride)
		return
	}
	for j, v := range x {
		group := k.group(j)
		if adjacent {
			dense.AddPairSquares(dparams[group:group+1], s, x[j:j+1], columns[j*stride+first:], stride)
			continue
		}
		column, sum := columns[j*stride:], 0.0
		for i, row := range rows {
			if s[i] != 0 {
				d := v - column[row]
				sum += s[i] * d * d
			}
		}
		dparams[group] += sum
	}
}

// isDistance reports whether the kernel is a function of a distance and has values up to 1.
// Machines with such a kernel also store the features column by column.
func isDistance(k Kernel) bool {
	_, ok := k.(ARD)
	return ok || isRBF(k)
}

// hyperparameters returns head, followed by the descriptions of the widths of the kernel k. If the
// data do not determine the widths, it returns nil.
func hyperparameters(k Kernel, head learn.Hyperparameter, m learn.Moments) []learn.Hyperparameter {
	one := width(m)
	if isRBF(k) {
		return []learn.Hyperparameter{head, one}
	}
	a, ok := k.(ARD)
	if !ok {
		return nil
	}
	// On average, all n features contribute to the distance. If only one feature matters, it has to
	// contribute the whole distance. The upper bound of each γ is therefore n times the bound for a
	// common width.
	one.Upper *= float64(m.Features)
	one.Zero, one.Kind = true, "γ"
	all := []learn.Hyperparameter{head}
	for g := range a.NumParams(m.Features) {
		one.Name = fmt.Sprintf("γ[%d]", g)
		all = append(all, one)
	}
	for j := range m.Features {
		h := &all[1+a.group(j)]
		h.Features = append(h.Features, j)
	}
	return all
}
