package portable

import (
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactExp returns e to the power x with a precision of 200 bits.
func exactExp(x float64) *big.Float {
	const halvings = 20
	r := new(big.Float).SetPrec(300).SetFloat64(x)
	r.SetMantExp(r, -halvings)
	sum, term := big.NewFloat(1).SetPrec(300), big.NewFloat(1).SetPrec(300)
	for k := int64(1); k < 30; k++ {
		term.Mul(term, r).Quo(term, new(big.Float).SetPrec(300).SetInt64(k))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// expTol bounds the error of Exp in units in the last place if underflow loses no bits. Correct
// rounding has errors of up to .5.
const expTol = .9

func TestExp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	worst := 0.
	check := func(x float64) {
		got, want := Exp(x), exactExp(x)
		ulp := math.Nextafter(got, math.Inf(1)) - got
		off, _ := new(big.Float).Quo(want.Sub(want, new(big.Float).SetFloat64(got)), new(big.Float).SetFloat64(ulp)).Float64()
		tol := expTol
		if got < 0x1p-1021 {
			tol = 1 // rounded twice
		}
		if worst = max(worst, math.Abs(off)); !(math.Abs(off) <= tol) {
			t.Errorf("exp(%v) = %v is off by %v units in the last place", x, got, off)
		}
	}
	for range 4000 {
		check(rng.NormFloat64())
		check(1416*rng.Float64() - 708)
		check(math.Ldexp(rng.Float64(), -rng.IntN(60)))
		check(math.Ln2 * (float64(rng.IntN(100)) + .5 + 1e-14*rng.NormFloat64()))
		check(-708 - 37*rng.Float64())
	}
	if worst < .5 {
		t.Errorf("an error of %v at most is below that of rounding", worst)
	}
	for x, want := range map[float64]float64{0: 1, math.Copysign(0, -1): 1, math.Inf(1): math.Inf(1), math.Inf(-1): 0, 709.782712893384: 1.7976931348622732e308, 709.7827128933841: math.Inf(1), 1e300: math.Inf(1), -1e300: 0, -745.2: 0, -745.1: 5e-324} {
		if got := Exp(x); got != want {
			t.Errorf("exp(%v) = %v instead of %v", x, got, want)
		}
	}
	if !math.IsNaN(Exp(math.NaN())) {
		t.Error("exp(NaN) is a number")
	}
}

// The bits are the same on every processor.
func TestBitsOfExp(t *testing.T) {
	const want uint64 = 0xd0ba71f99d7adee6
	rng := rand.New(rand.NewPCG(2, 5))
	sum := fnv.New64a()
	for range 100_000 {
		x := float64(1416*rng.Float64()) - 708 // not fused
		d := []float64{x / 100, x / 30, x}
		Shares(d)
		joint := []float64{x / 30, x / 100, x}
		Softmax(joint)
		q := math.Abs(x) / 10
		for _, v := range []float64{Exp(x), Logistic(x / 20), d[0], d[1], d[2], joint[0], joint[1], joint[2], Matern32(q), Matern52(q), RBF(1e-4, []float64{x, 3, q}, []float64{1, q, 1}), Polynomial(.7, .3, 5, []float64{x, 3, q}, []float64{1, q, 1}), Distance([]float64{1, 0, 2}, []float64{x, 3, q}, []float64{1, q, 1})} {
			var b [8]byte
			for i := range b {
				b[i] = byte(math.Float64bits(v) >> (8 * i))
			}
			sum.Write(b[:])
		}
	}
	if got := sum.Sum64(); got != want {
		t.Errorf("the results have the hash %#x instead of %#x", got, want)
	}
}
