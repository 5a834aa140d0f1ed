package cvgm

import (
	"runtime"
	"slices"
	"sync"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
)

// splitBatch is the scratch of some splits that are evaluated together.
type splitBatch struct {
	items []learn.BatchItem
	work  qpdiff.Workspace // of a learn.BatchLearner
}

// batches keeps as many batches as run at the same time.
type batches struct {
	mutex sync.Mutex
	free  []*splitBatch
}

// take returns a batch of so many items, which are zero.
func (b *batches) take(size int) *splitBatch {
	b.mutex.Lock()
	if len(b.free) == 0 {
		b.free = append(b.free, new(splitBatch))
	}
	last := len(b.free) - 1
	s := b.free[last]
	b.free = b.free[:last]
	b.mutex.Unlock()
	s.items = slices.Grow(s.items[:0], size)[:size]
	clear(s.items)
	return s
}

// give takes a batch back.
func (b *batches) give(s *splitBatch) {
	b.mutex.Lock()
	b.free = append(b.free, s)
	b.mutex.Unlock()
}

// batchesPerWorker is how many batches each worker has at least, so that none waits for long.
const batchesPerWorker = 4

// mostTogether returns how many splits are best evaluated together.
func (cv *CV) mostTogether() int {
	b, ok := cv.fits[0].learner.(learn.BatchLearner)
	if !ok || cv.full != nil {
		return 1
	}
	size := learn.Size{Rows: len(cv.fits[0].split.Train), Features: cv.features}
	if cv.viewed {
		size = cv.c.viewSize(cv.features)
	}
	size.Counting = size.Rows
	most := b.Batch(b, size)
	for j := range cv.fits {
		l := cv.fits[j].learner
		if _, predicts := l.(learn.Predictor); predicts {
			return 1
		}
		most = min(most, b.Batch(l, size))
	}
	return max(1, most)
}

// batchSize returns how many splits are evaluated together. No result depends on it.
func (cv *CV) batchSize() int {
	most, workers := cv.together, cv.c.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if workers > 1 {
		most = min(most, max(1, len(cv.fits)/(batchesPerWorker*workers)))
	}
	return most
}

// evalBatch does the part of an evaluation of one batch of splits. It returns the error of the first of
// them that has one.
func (cv *CV) evalBatch(batch int) error {
	r, lo := &cv.run, batch*cv.run.batch
	fits := cv.fits[lo:min(lo+r.batch, len(cv.fits))]
	b := cv.batches.take(len(fits))
	defer cv.batches.give(b)
	for i := range fits {
		f := &fits[i]
		b.items[i] = learn.BatchItem{Learner: f.learner, Theta: f.theta, Grad: &f.grad, DTheta: f.dtheta, Err: cv.loadForEval(f)}
	}
	l := cv.fits[0].learner.(learn.BatchLearner)
	l.FitBatch(&b.work, b.items, r.hyper)
	for i := range fits {
		f, err := &fits[i], &b.items[i].Err
		if *err == nil {
			*err = f.value(&cv.c, r.gradient, r.data)
		}
		if f.failed = *err != nil; r.gradient && !f.failed {
			f.clearGradient()
			f.cotangent(f.grad.X != nil, f.dvalX)
		}
	}
	if r.gradient {
		l.VJPBatch(&b.work, b.items)
	}
	for i := range fits {
		f, err := &fits[i], b.items[i].Err
		if r.gradient && !f.failed {
			err = f.endGradient(&cv.c, err)
		}
		if err != nil {
			return &SplitError{lo + i, cv.ofShare(err)}
		}
	}
	return nil
}
