package portable

import "math"

// BSplines returns the values at x of four of numSplines cubic B-splines. Their indices are first,
// …, first + 3. All other splines are 0 at x, and the sum of the four values is 1. The knots divide
// [low, high] into numSplines − 3 equal segments. Outside [low, high] each spline continues along
// its tangent.
func BSplines(numSplines int, low, high, x float64) (first int, values [4]float64) {
	segments := numSplines - 3
	s := float64(along(low, high, x) * float64(segments))
	at := min(max(math.Floor(s), 0), float64(segments-1))
	t := s - at
	beyond := 0.
	if t < 0 || t > 1 {
		inside := min(max(t, 0), 1)
		t, beyond = inside, t-inside
	}
	u := 1 - t
	values[0] = float64(u*u*u)/6 - float64(beyond*u*u)/2
	values[1] = (float64(3*t*t*t)-float64(6*t*t)+4)/6 + float64(beyond*(float64(3*t*t)-float64(4*t)))/2
	values[2] = (float64(3*u*u*u)-float64(6*u*u)+4)/6 - float64(beyond*(float64(3*u*u)-float64(4*u)))/2
	values[3] = float64(t*t*t)/6 + float64(beyond*t*t)/2
	return int(at), values
}

// along returns (x − low)/(high − low). The differences cannot overflow.
func along(low, high, x float64) float64 {
	if length := high - low; !math.IsInf(length, 0) {
		return (x - low) / length
	}
	return (x/2 - low/2) / (high/2 - low/2)
}

// CentredSplines are the features of Count B-splines over [Low, High].
type CentredSplines struct {
	Count     int
	Low, High float64
}

// Width returns the number of features.
func (b *CentredSplines) Width() int { return b.Count - 1 }

// Set calls its argument set with the index and the value of each feature of x; the argument first
// is the index of the first feature. The features are Zᵀ times the values of the B-splines. The
// columns of Z are orthonormal, and orthogonal to the vector of ones. A combination of the features
// with the weights θ is a combination of the B-splines with the weights Zθ. The weights Zθ sum to
// 0, so no combination is a nonzero constant.
func (b *CentredSplines) Set(x float64, first int, set func(feature int, v float64)) {
	count := b.Count
	at, near := BSplines(count, b.Low, b.High, x)
	spline := func(k int) float64 {
		if k < at || k > at+3 {
			return 0
		}
		return near[k-at]
	}
	// Z is a Householder matrix without its first column. The Householder matrix maps the vector of
	// ones to a multiple of the first unit vector.
	n, root := float64(count), math.Sqrt(float64(count))
	shift := (1 + float64(root*spline(0))) / (n + root)
	for k := 1; k < count; k++ {
		set(first+k-1, spline(k)-shift)
	}
}
