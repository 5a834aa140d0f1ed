package cvgm

import (
	"errors"
	"fmt"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// share returns the value of MaxBytes for a learner l that loads data of size s: the Bytes of l
// plus a part of the free memory. l may use this part for storage that grows during fits.
func (cv *CV) share(l learn.Learner, s learn.Size) int64 {
	bound := cv.c.maxAllowed()
	if bound == memory.Unbounded {
		return bound
	}
	rest := float64(bound-cv.count.total()) * float64(s.Counting) / cv.count.totalRows
	return max(1, memory.Bytes(learnerBytes(l, s)+max(0, rest)))
}

// ofShare extends the error of a learner whose MaxBytes is too small. The message then mentions
// that this MaxBytes is only a part of Config.MaxBytes.
func (cv *CV) ofShare(err error) error {
	if !errors.Is(err, qpdiff.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w (its MaxBytes is what Config.MaxBytes, %d, leaves to it as one of %.0f learners)", err, cv.c.maxAllowed(), cv.count.numLearners)
}

// prepare allocates the storage of f. The caller has counted the memory of f.
func (cv *CV) prepare(f *splitFit) {
	f.prepare(&cv.c, cv.features, cv.readsInPlace)
	f.train.Gram = cv.gram
	if f.leftOut != nil {
		return
	}
	size := learn.Size{}
	if f.readsInPlace {
		size = cv.c.viewSize(cv.features)
		size.Counting = len(f.split.Train)
	} else {
		size = f.train.Size()
	}
	f.train.MaxBytes = cv.share(f.learner, size)
}

// allExamples returns the data with the features x that the learner l loads to fit all examples.
func (cv *CV) allExamples(x *mat.Dense, l learn.Learner) learn.Data {
	d := learn.Data{X: x, Y: cv.c.Data.Y, Weights: cv.c.Data.Weights}
	size := d.Size()
	size.Features = cv.features
	if cv.loo != nil {
		size = cv.loo.withFolds(size)
	}
	d.MaxBytes = cv.share(l, size)
	return d
}

// If cv.loo usually evaluates all splits at once, countSplits counts the memory for fitting each
// split separately instead. Only the first call changes the count.
func (cv *CV) countSplits() error {
	if cv.loo == nil || cv.loo.fittedSingly {
		return nil
	}
	each := cv.c.countCV(cv.fits[0].learner, cv.features, nil)
	each.ownBytes = cv.count.ownBytes
	if err := cv.c.tooLarge(each.total()); err != nil {
		return err
	}
	cv.count, cv.loo.fittedSingly = each, true
	return nil
}

// countData counts the additional memory of a DataGradient.
func (cv *CV) countData(wantX bool) float64 {
	rows, raw := cv.c.Data.X.Dims()
	n, m := float64(rows), float64(cv.features)
	var entries float64
	_, tied := cv.fits[0].learner.(learn.TiedLearner)
	for _, s := range cv.c.Splits {
		t, v := float64(len(s.Train)), float64(len(s.Val))
		if cv.fullLearner != nil || cv.fits[0].readsInPlace {
			t = n
		}
		if wantX || tied {
			entries += (t + v) * m
		}
		entries += t + v
		if wantX && cv.fits[0].readsInPlace { // the split's own rows, and their cotangents
			entries += (2*float64(len(s.Train)) + v) * m
		}
	}
	if wantX {
		entries += n * m
	}
	if tied { // tieTest
		entries += n*m + 3*n*max(m, float64(raw))
	}
	return word * entries
}
