package qpdiff

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
)

// marosEnv names the folder with the Maros–Mészáros problems as JSON.
const marosEnv = "MAROS_DIR"

type triplets struct {
	I, J []int
	V    []float64
}

// A marosProblem is min ½xᵀPx + qᵀx + r subject to cl ≤ Ax ≤ cu, lb ≤ x ≤ ub. Bounds of 1e20 and
// beyond are infinite.
type marosProblem struct {
	Name   string
	N, M   int
	P, A   triplets
	Q      []float64
	R      float64
	Cl, Cu []float64
	Lb, Ub []float64
}

func (p *marosProblem) qp() *QP {
	const inf = 1e19
	n := p.N
	dense := func(t triplets, r int) []float64 {
		d := make([]float64, r*n)
		for k := range t.V {
			d[t.I[k]*n+t.J[k]] += t.V[k]
		}
		return d
	}
	rows := dense(p.A, p.M)
	lower, upper := p.Cl, p.Cu
	for j := range n {
		e := make([]float64, n)
		e[j] = 1
		rows = append(rows, e...)
	}
	lower = append(append([]float64{}, lower...), p.Lb...)
	upper = append(append([]float64{}, upper...), p.Ub...)
	var g, a, h, b []float64
	for i := range lower {
		row := rows[i*n : (i+1)*n]
		if lower[i] == upper[i] {
			a, b = append(a, row...), append(b, lower[i])
			continue
		}
		if upper[i] < inf {
			g, h = append(g, row...), append(h, upper[i])
		}
		if lower[i] > -inf {
			for _, v := range row {
				g = append(g, -v)
			}
			h = append(h, -lower[i])
		}
	}
	q := &QP{Q: mat.NewDense(n, n, dense(p.P, n)), P: p.Q, H: h, B: b}
	if len(h) > 0 {
		q.G = mat.NewDense(len(h), n, g)
	}
	if len(b) > 0 {
		q.A = mat.NewDense(len(b), n, a)
	}
	return q
}

// BenchmarkMarosMeszaros reports the number of problems that reach a relative KKT residual of 1e-9.
// It reads the problems from the folder MAROS_DIR.
func BenchmarkMarosMeszaros(b *testing.B) {
	dir := os.Getenv(marosEnv)
	if dir == "" {
		b.Skipf("%s is not set: it names a folder with the Maros–Mészáros problems as JSON", marosEnv)
	}
	files, err := filepath.Glob(filepath.Join(dir, "[A-Z]*.json"))
	if err != nil || len(files) == 0 {
		b.Fatalf("%s=%s holds no problem", marosEnv, dir)
	}
	var reference []struct {
		Name   string
		OptRef *float64 `json:"opt_ref"`
	}
	if text, err := os.ReadFile(filepath.Join(dir, "_reference.json")); err == nil {
		if err := json.Unmarshal(text, &reference); err != nil {
			b.Fatal(err)
		}
	}
	optimum := map[string]float64{}
	for _, r := range reference {
		if r.OptRef != nil {
			optimum[r.Name] = *r.OptRef
		}
	}
	report := func(format string, args ...any) {
		if testing.Verbose() { // b.Log keeps ten lines only
			fmt.Printf(format, args...)
		}
	}
	for b.Loop() {
		solved, refused := 0, 0
		worst := 0.0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			var p marosProblem
			if err := json.Unmarshal(text, &p); err != nil {
				b.Fatal(err)
			}
			var s Solution
			q := p.qp()
			start := time.Now()
			err = s.Solve(q)
			took := time.Since(start)
			if errors.Is(err, ErrNonconvex) {
				refused++
				report("%-9s refused: zᵀQz = %.3g\n", p.Name, s.Certificate.Residual)
				continue
			}
			if err == nil && s.Residual.Relative <= 1e-9 {
				solved++
			}
			off := 0.0
			if want, ok := optimum[p.Name]; ok {
				off = math.Abs(s.Objective+p.R-want) / math.Max(1, math.Abs(want))
				worst = math.Max(worst, off)
			}
			report("%-9s n %3d m %3d q %3d  KKT %.1e  objective off %.1e  changes %4d proximal %2d refinements %2d  %8.2f ms  %v\n",
				p.Name, len(q.P), len(q.H), len(q.B), s.Residual.Relative, off, s.Iterations, s.Proximal, s.Refinements, took.Seconds()*1e3, err)
		}
		b.ReportMetric(float64(solved), "solved")
		b.ReportMetric(float64(refused), "refused")
		b.ReportMetric(worst, "objective-error")
	}
}
