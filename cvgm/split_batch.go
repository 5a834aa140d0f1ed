package cvgm

import (
	"slices"
	"sync"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
)

// splitBatch is the scratch of splits that are evaluated together.
type splitBatch struct {
	items []learn.BatchItem
	work  qpdiff.Workspace // of a learn.BatchLearner
}

// batches stores the batches that are not in use.
type batches struct {
	mutex sync.Mutex
	free  []*splitBatch
}

// take returns a batch whose slice of items has the given size. The caller sets all items.
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
	return s
}

// give puts a batch back into b.
func (b *batches) give(s *splitBatch) {
	b.mutex.Lock()
	b.free = append(b.free, s)
	b.mutex.Unlock()
}
