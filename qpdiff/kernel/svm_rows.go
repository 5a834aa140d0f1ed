package kernel

import (
	"math"

	"cvgm/qpdiff/internal/dense"
)

// leastCached is the least number of rows in a cache.
const leastCached = 16

// rowLimits are the sizes at which SVM switches to its methods for large problems, and the sizes
// that these methods use. Tests set smaller sizes.
type rowLimits struct {
	maxStored      int // largest number of rows whose whole kernel matrix is stored
	shrink         int // up to this number of rows, no row is set aside, and Load counts the factors
	searchInterval int // number of pairs between two searches for rows to set aside
	cache          int // largest number of entries in a cache of rows
}

// The cache may hold at most 128 MiB, the size of the largest kernel matrix that is stored whole.
var limits = rowLimits{maxStored: 1 << 12, shrink: 1 << 10, searchInterval: 1000, cache: 1 << 24}

// kernelRows are the rows of a machine's kernel matrix. If there are more than limits.maxStored
// rows, the matrix is not stored, and a row of the matrix is evaluated when it is needed. A cache
// then holds the rows that the latest steps of sequential minimal optimisation used. In this case
// exact steps update y − Kβ, and the last exact step computes y − Kβ anew from all rows.
type kernelRows struct {
	machine   *kernelMachine
	params    []float64 // of the kernel
	k         []float64 // n×n; nil beyond limits.maxStored rows
	cache     rowCache
	lastRow   []float64 // a row that is not in the cache
	notFinite bool      // a value is not finite
}

// rowsEntries returns the number of entries of kernelRows with the smallest cache, plus the number
// of entries of the factors of m free rows. With many rows it counts neither the factors nor a
// larger cache, because each fit counts them itself.
func rowsEntries(m float64) float64 {
	switch {
	case m <= float64(limits.shrink):
		return 3 * m * m
	case m <= float64(limits.maxStored):
		return m*m + (leastCached+10)*m
	}
	return (leastCached + 10) * m
}

// readRow returns row j of the kernel matrix. If the row is not stored, readRow computes it in
// scratch. readRow may be called concurrently.
func (r *kernelRows) readRow(scratch *[]float64, j, n int) []float64 {
	if row := r.storedRow(j, n); row != nil {
		return row
	}
	*scratch = dense.Grow(*scratch, n)
	r.machine.values(*scratch, r.params, r.machine.row(j), nil)
	return *scratch
}

// storedRow returns row j if it is stored or cached, and otherwise nil.
func (r *kernelRows) storedRow(j, n int) []float64 {
	if r.k != nil {
		return r.k[j*n : (j+1)*n]
	}
	if c := &r.cache; c.width == n && c.place[j] >= 0 {
		return c.store[c.place[j]*n : (c.place[j]+1)*n]
	}
	return nil
}

// gather sets dst to entries of row j of the kernel matrix: the entries in the columns cols, or all
// entries if cols is nil. The list cols ascends.
func (r *kernelRows) gather(dst []float64, j, n int, cols []int) {
	if row := r.storedRow(j, n); cols != nil && row != nil {
		dense.Gather(dst, row, cols)
		return
	}
	r.evaluate(dst, j, cols)
}

// evaluate sets dst to the kernel values between row j and the rows listed in cols. If cols is nil,
// it takes all rows.
func (r *kernelRows) evaluate(dst []float64, j int, cols []int) {
	r.machine.values(dst, r.params, r.machine.row(j), cols)
	if isDistance(r.machine.kernel) {
		return // at most 1
	}
	sum := 0.0
	for _, v := range dst {
		sum += math.Abs(v)
	}
	r.notFinite = r.notFinite || !dense.Finite(4*sum)
}

// updateRows evaluates the rows of the kernel matrix with the parameters params, unless the rows
// are up to date. It also computes the diagonal.
func (r *kernelRows) updateRows(machine *kernelMachine, rowIDs []int, diagonal, params []float64) (changed bool, largest float64, err error) {
	n := len(rowIDs)
	r.machine = machine
	if r.k != nil {
		if changed, largest, err = machine.gram(r.k, rowIDs, params); changed {
			for i := range diagonal {
				diagonal[i] = r.k[i*n+i]
			}
		}
		return changed, largest, err
	}
	if !machine.changes(params) {
		return false, 0, nil
	}
	machine.staleMatrix, r.notFinite = true, false
	r.params = append(r.params[:0], params...)
	r.cache.begin(n, n)
	for i := range diagonal {
		x := machine.row(i)
		d := machine.kernel.Eval(params, x, x)
		if diagonal[i], largest = d, max(largest, d); d < 0 {
			return true, 0, errNegative(d, rowIDs[i])
		}
		r.notFinite = r.notFinite || !dense.Finite(4*d)
	}
	if err := r.check(); err != nil {
		return true, 0, err
	}
	machine.setParams(params)
	return true, largest, nil
}

// check returns an error if a value was not finite.
func (r *kernelRows) check() error {
	if r.notFinite {
		r.machine.staleMatrix = true
		return errValues
	}
	return nil
}

// rowCache holds the rows of the kernel matrix that were used last, with all columns or with some
// of them.
type rowCache struct {
	width    int // entries of a row
	entries  int // that it may hold
	store    []float64
	owner    []int // for each place, its row
	lastUse  []int // for each place, when its row was last used
	place    []int // for each row of the matrix, its place in the cache, or −1
	useCount int
}

// begin empties the cache, for n rows with the given number of columns.
func (c *rowCache) begin(n, width int) {
	c.place = dense.Grow(c.place, n)
	dense.Fill(c.place, -1)
	c.owner, c.lastUse, c.useCount, c.width = c.owner[:0], c.lastUse[:0], 0, width
}

// cachedRow returns row j if it is in the cache, and otherwise nil.
func (c *rowCache) cachedRow(j int) []float64 {
	if len(c.place) <= j || c.place[j] < 0 {
		return nil
	}
	at := c.place[j]
	c.useCount++
	c.lastUse[at] = c.useCount
	return c.store[at*c.width : (at+1)*c.width]
}

// newRow returns storage for row j of the kernel matrix. If no storage is left, it reuses the
// storage of the row that was unused for the longest time.
func (c *rowCache) newRow(j int) []float64 {
	most := min(len(c.place), max(leastCached, c.entries/c.width))
	if len(c.owner) < most && (len(c.owner)+1)*c.width > len(c.store) {
		// The rows in the old storage are dropped and evaluated again, because copying them would need
		// room for both storages.
		c.freeCache()
		c.store = make([]float64, min(len(c.place)*c.width, max(leastCached*c.width, c.entries)))
		c.owner, c.lastUse = make([]int, 0, most), make([]int, 0, most)
	}
	at := len(c.owner)
	if at < most {
		c.owner, c.lastUse = append(c.owner, j), append(c.lastUse, 0)
	} else {
		at = 0
		for k, u := range c.lastUse {
			if u < c.lastUse[at] {
				at = k
			}
		}
		c.place[c.owner[at]] = -1
		c.owner[at] = j
	}
	c.place[j] = at
	return c.cachedRow(j)
}

// keepColumns drops all columns of the cached rows but those whose numbers are in the ascending
// slice named columns.
func (c *rowCache) keepColumns(columns []int) {
	was, m := c.width, len(columns)
	for at := range c.owner {
		from, to := c.store[at*was:(at+1)*was], c.store[at*m:(at+1)*m]
		for k, j := range columns {
			to[k] = from[j] // the source is not before the destination
		}
	}
	c.width = m
}

// freeCache frees the storage of the cache.
func (c *rowCache) freeCache() {
	c.store, c.owner, c.lastUse = nil, nil, nil
	c.begin(len(c.place), c.width)
}
