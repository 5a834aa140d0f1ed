package sparse

import (
	"cmp"
	"math"
	"slices"
)

// A Comparison finds equal columns of Columns. It reads only the kept entries.
type Comparison struct {
	c        *Columns
	order    []int32   // the rows with ρ_i > 0, the largest ρ_i first
	lastPass []int     // for each row, the number of the last pass that visited it
	pass     int       // the number of this pass
	loaded   int       // the column whose kept entries are in entry, or −1
	entry    []float64 // its kept entries
}

// Compare returns a Comparison of the columns of c. It requires that no ρ_i of c is negative.
func (c *Columns) Compare() *Comparison {
	m := &Comparison{c: c, lastPass: make([]int, c.M), loaded: -1, entry: make([]float64, c.M)}
	for i, r := range c.Root {
		if r != 0 {
			m.order = append(m.order, int32(i))
		}
	}
	slices.SortStableFunc(m.order, func(i, k int32) int { return cmp.Compare(c.Root[k], c.Root[i]) })
	return m
}

// largestRest returns the largest ρ_i among the rows i that the present pass has not visited.
func (m *Comparison) largestRest() float64 {
	for _, i := range m.order {
		if m.lastPass[i] != m.pass {
			return m.c.Root[i]
		}
	}
	return 0
}

// Project implements equal.Matrix.
func (m *Comparison) Project(sums, size []float64, weight func() float64) {
	c, v := m.c, m.entry
	for i := range v {
		v[i] = weight()
	}
	clear(sums)
	c.AddTransposed(sums, 1, v)
	clear(v)
	for j := range size {
		m.pass++
		shift, largest := c.Shift(j), 0.0
		row, value := c.column(j)
		for k, i := range row {
			m.lastPass[i] = m.pass
			largest = max(largest, math.Abs(value[k]-shift*c.Root[i]))
		}
		if shift != 0 {
			largest = max(largest, math.Abs(shift)*m.largestRest())
		}
		size[j] = largest
	}
}

// Alike implements equal.Matrix.
func (m *Comparison) Alike(first, k int, sign, tol float64) bool {
	c := m.c
	if m.loaded != first {
		if m.loaded >= 0 {
			c.Clear(m.entry, m.loaded)
		}
		m.loaded = first
		c.Add(m.entry, 1, first)
	}
	shift := c.Shift(first) - sign*c.Shift(k)
	m.pass++
	row, value := c.column(k)
	for p, i := range row {
		m.lastPass[i] = m.pass
		if !(math.Abs(m.entry[i]-sign*value[p]-shift*c.Root[i]) <= tol) {
			return false
		}
	}
	row, value = c.column(first)
	for p, i := range row {
		if m.lastPass[i] == m.pass {
			continue
		}
		m.lastPass[i] = m.pass
		if !(math.Abs(value[p]-shift*c.Root[i]) <= tol) {
			return false
		}
	}
	return shift == 0 || math.Abs(shift)*m.largestRest() <= tol
}
