package portable

import "math"

// A GaussianBasis makes joint features of the numbers x of several columns. The features are an
// orthonormal basis of the functions that the Gaussian kernel k spans at its points z_1, z_2, …
// (the Newton basis; Müller and Schaback 2009). With the Cholesky factor L of the matrix of
// k(z_i, z_j), the features φ solve Lφ = (k(x, z_1), k(x, z_2), …). So Σ_i φ_i(x)φ_i(x′) is k(x, x′)
// if x or x′ is a point, and otherwise the Nyström approximation of k(x, x′).
type GaussianBasis struct {
	Length     float64   // the length scale, in units of the deviations
	Deviations []float64 // of the columns
	Points     []float64 // one after another
	Lower      []float64 // the columns of L, each from its diagonal on
}

// NewGaussianBasis returns a basis with its factor L. The square of a diagonal entry of L is the
// remainder of k(z_i, z_i) = 1 after the projection on the earlier points. For equal points the
// remainder is only a rounding error, and entries of L can be infinite or NaN.
func NewGaussianBasis(length float64, deviations, points []float64) *GaussianBasis {
	b := &GaussianBasis{Length: length, Deviations: deviations, Points: points}
	n, d := b.Width(), len(deviations)
	b.Lower = make([]float64, 0, n*(n+1)/2)
	for i := range n {
		for k := i; k < n; k++ {
			b.Lower = append(b.Lower, b.Kernel(points[k*d:(k+1)*d], points[i*d:(i+1)*d]))
		}
	}
	rest := b.Lower
	for i := range n {
		column := rest[:n-i]
		rest = rest[n-i:]
		column[0] = math.Sqrt(column[0])
		for k := 1; k < len(column); k++ {
			column[k] /= column[0]
		}
		later := rest
		for k := 1; k < len(column); k++ {
			f := column[k]
			for m, v := range column[k:] {
				later[m] -= float64(f * v)
			}
			later = later[len(column)-k:]
		}
	}
	return b
}

// Kernel returns exp(−½Σ_j((x_j − z_j)/(Length·Deviations_j))²). It is 0 if a term overflows.
func (b *GaussianBasis) Kernel(x, z []float64) float64 {
	sum := 0.
	for j, v := range x {
		d := v - z[j]
		if math.IsInf(d, 0) {
			d = (v/2 - z[j]/2) / b.Deviations[j] * 2
		} else {
			d /= b.Deviations[j]
		}
		d /= b.Length
		sum += float64(d * d)
	}
	return Exp(-sum / 2)
}

// Width returns the number of features, which is the number of points.
func (b *GaussianBasis) Width() int { return len(b.Points) / len(b.Deviations) }

// Set calls the function set with the index and the value of each feature of x. The parameter first
// is the index of the first feature.
func (b *GaussianBasis) Set(x []float64, first int, set func(feature int, v float64)) {
	n, d := b.Width(), len(b.Deviations)
	left := make([]float64, n) // k(x, z_i) minus the part that the features so far explain
	for i := range left {
		left[i] = b.Kernel(x, b.Points[i*d:(i+1)*d])
	}
	rest := b.Lower
	for i := range left {
		column := rest[:n-i]
		rest = rest[n-i:]
		f := left[i] / column[0]
		set(first+i, f)
		later := left[i+1:]
		for k, v := range column[1:] {
			later[k] -= float64(f * v)
		}
	}
}
