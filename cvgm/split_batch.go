package cvgm

import (
	"slices"
	"sync"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
)

// splitBatch is the scratch of splits that are evaluated together.
type splitBatch struct {
	items     []learn.BatchItem
	workspace qpdiff.Workspace // of a learn.BatchLearner
}

// A batchPool holds the batches that are not in use.
type batchPool struct {
	mutex  sync.Mutex
	unused []*splitBatch
}

// takeBatch returns a batch whose slice of items has the given size. The caller sets all items.
func (b *batchPool) takeBatch(size int) *splitBatch {
	b.mutex.Lock()
	if len(b.unused) == 0 {
		b.unused = append(b.unused, new(splitBatch))
	}
	last := len(b.unused) - 1
	s := b.unused[last]
	b.unused = b.unused[:last]
	b.mutex.Unlock()
	s.items = slices.Grow(s.items[:0], size)[:size]
	return s
}

// putBack puts a batch back into b.
func (b *batchPool) putBack(s *splitBatch) {
	b.mutex.Lock()
	b.unused = append(b.unused, s)
	b.mutex.Unlock()
}
