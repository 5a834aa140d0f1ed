package penalised

import "cvgm/qpdiff/internal/dense"

// A penaltySum is the sum Σλ_jS_j of neighbouring penalties of the same shape. A fit reads each S_j
// only once, to compute the sum, and then works with the sum. This saves time because many S_j are
// larger than a cache.
type penaltySum struct {
	start int    // number of the first penalty
	forms []form // one or more
	sum   form   // Σλ_jS_j; not set for a single penalty
}

// penaltySums are the sums of all penalties of a fit, in the order of the penalties.
type penaltySums []penaltySum

// sums returns the sums of neighbouring forms. It uses the storage of dst.
func sums(dst penaltySums, forms []form) penaltySums {
	dst = dense.Grow(dst, len(forms))
	count := 0
	for j := range forms {
		if count > 0 && dst[count-1].forms[0].shape == forms[j].shape {
			s := &dst[count-1]
			s.forms = forms[s.start : j+1]
			continue
		}
		dst[count].start, dst[count].forms = j, forms[j:j+1]
		count++
	}
	return dst[:count]
}

// sumEntries returns the number of entries of the sums.
func sumEntries(penalties []Penalty) (entries float64) {
	var of shape
	count := 0 // of neighbouring penalties with this shape
	for _, p := range penalties {
		if s := p.shape(); s != of {
			of, count = s, 0
		}
		if count++; count == 2 {
			entries += float64(of.count) * float64(of.band+1)
		}
	}
	return entries
}

// set computes the sums for the factors lambda.
func (s penaltySums) set(lambda []float64) {
	for j := range s {
		s[j].set(lambda)
	}
}

// addTo adds Σ_jλ_jS_j to the upper triangle of the matrix h, whose rows have stride entries each.
func (s penaltySums) addTo(h []float64, stride int, lambda []float64) {
	for j := range s {
		f, factor := s[j].formAt(lambda)
		f.addTo(h, stride, factor)
	}
}

// addTimes adds Σ_jλ_jS_jv to dst.
func (s penaltySums) addTimes(dst, lambda, v []float64) {
	for j := range s {
		f, factor := s[j].formAt(lambda)
		f.addTimes(dst, factor, v)
	}
}

// set computes the sum.
func (s *penaltySum) set(lambda []float64) {
	if len(s.forms) == 1 {
		return
	}
	f, like := &s.sum, &s.forms[0]
	f.shape, f.skewed, f.stride = like.shape, true, like.band+1
	f.data = dense.Zeros(f.data, f.count*f.stride)
	s.eachForms(func(j int, forms []form) {
		for i := range f.count {
			row := dense.Sum{Dst: f.row(i)}
			for k := range forms {
				row.Add(lambda[j+k], forms[k].row(i))
			}
			row.End()
		}
	})
}

// formAt returns a form and its factor.
func (s *penaltySum) formAt(lambda []float64) (*form, float64) {
	if len(s.forms) == 1 {
		return &s.forms[0], lambda[s.start]
	}
	return &s.sum, 1
}

// formsTogether is the number of forms that are processed together: their rows are multiplied by
// the same vector.
const formsTogether = 4

// products sets dst[k] to the product of x with row i of forms[k], without the first skip entries
// of this row.
func products(dst *[formsTogether]float64, forms []form, i, skip int, x []float64) {
	x = x[:len(forms[0].row(i))-skip]
	if len(forms) == formsTogether {
		dense.Products4(dst[:], forms[0].row(i)[skip:], forms[1].row(i)[skip:], forms[2].row(i)[skip:], forms[3].row(i)[skip:], x)
		return
	}
	for k := range forms {
		dst[k] = dense.Dot(x, forms[k].row(i)[skip:])
	}
}

// eachForms calls the function visit for up to four forms at a time. The argument j of visit is the
// number of the first of these forms.
func (s *penaltySum) eachForms(visit func(j int, forms []form)) {
	for at := 0; at < len(s.forms); at += formsTogether {
		visit(s.start+at, s.forms[at:min(at+formsTogether, len(s.forms))])
	}
}

// subtractBilinear subtracts uᵀS_jv from each dst_j.
func (s *penaltySum) subtractBilinear(dst, u, v []float64) {
	u, v = u[s.forms[0].first:], v[s.forms[0].first:]
	s.eachForms(func(j int, forms []form) {
		var sum, right, left [formsTogether]float64
		for i := range forms[0].count {
			products(&right, forms, i, 0, v[i:])
			products(&left, forms, i, 1, u[i+1:])
			for k := range forms {
				sum[k] += u[i]*right[k] + v[i]*left[k]
			}
		}
		for k := range forms {
			dst[j+k] -= sum[k]
		}
	})
}

// subtractInner subtracts ½⟨S_j, P⟩ from each dst_j, where P is a symmetric matrix with q rows. It
// reads only the upper triangle of P.
func (s *penaltySum) subtractInner(dst, p []float64, q int) {
	first := s.forms[0].first
	s.eachForms(func(j int, forms []form) {
		var sum, right [formsTogether]float64
		for i := range forms[0].count {
			of := p[(first+i)*(q+1):]
			products(&right, forms, i, 1, of[1:])
			for k := range forms {
				sum[k] += forms[k].row(i)[0]*of[0]/2 + right[k]
			}
		}
		for k := range forms {
			dst[j+k] -= sum[k]
		}
	})
}
