package experiment

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"

	"cvgm/synth"

	"gonum.org/v1/gonum/stat"
)

func TestEstimateCoversTheMeanNineteenTimesInTwenty(t *testing.T) {
	src := synth.NewStream(1, "estimate")
	const trials, n = 4000, 6
	covered := 0
	for range trials {
		v := make([]float64, n)
		for i := range v {
			v[i] = 3 + src.NormFloat64()
		}
		if e := EstimateOf(v); math.Abs(e.Mean-3) <= e.Margin {
			covered++
		}
	}
	// The tolerance is three standard deviations of a binomial share near 95 %.
	if share := float64(covered) / trials; math.Abs(share-.95) > 3*math.Sqrt(.95*.05/trials) {
		t.Errorf("intervals cover the mean in %v of the trials", share)
	}
}

func TestEstimateByHand(t *testing.T) {
	// The standard deviation is 1, so the margin is t(.975; 2)/√3.
	e := EstimateOf([]float64{1, 2, 3})
	if e.Mean != 2 || math.Abs(e.Margin-4.302652729749464/math.Sqrt(3)) > 1e-9 || e.N != 3 {
		t.Errorf("%+v", e)
	}
	if e := EstimateOf([]float64{1}); !math.IsNaN(e.Margin) {
		t.Errorf("an interval from one value: %+v", e)
	}
}

// SEAt scales the standard error of a positive quantity with the value, uses the binomial formula
// for a share, and is constant for any other number.
func TestStandardErrorAtAnotherValue(t *testing.T) {
	src := synth.NewStream(1, "standard error at another value")
	v, tenfold := make([]float64, 20), make([]float64, 20)
	for i := range v {
		v[i] = math.Exp(src.NormFloat64())
		tenfold[i] = 10 * v[i]
	}
	e, other := RatioOf(v), RatioOf(tenfold)
	if got := e.SEAt(other.Mean); math.Abs(got-other.SE()) > 1e-12*other.SE() {
		t.Errorf("ten times the value: %v, want %v", got, other.SE())
	}
	if e.SEAt(-1) != 0 || EstimateOf(v).SEAt(other.Mean) != e.SE() || EstimateOf(v[:1]).SEAt(1) != 0 {
		t.Errorf("below 0 %v, of any number %v, of one value %v", e.SEAt(-1), EstimateOf(v).SEAt(other.Mean), EstimateOf(v[:1]).SEAt(1))
	}
	// If the true share were ½, the share of 40 repetitions would have the standard deviation .079.
	const trials, n = 4000, 40
	all := ShareOf(slices.Repeat([]float64{1}, n))
	shares := make([]float64, trials)
	for i := range shares {
		for range n {
			shares[i] += math.Floor(2*src.Float64()) / n
		}
	}
	_, sd := stat.MeanStdDev(shares, nil)
	if got := all.SEAt(.5); math.Abs(got-sd) > 3*sd/math.Sqrt(2*trials) { // three standard errors of the deviation
		t.Errorf("%v at ½, the shares scatter by %v", got, sd)
	}
	if all.SEAt(1.5) != 0 {
		t.Errorf("%v above 1", all.SEAt(1.5))
	}
}

// The ends of Wilson's interval are the roots s of (p − s)² = z²·s·(1−s)/n, and lie between 0 and
// 1.
func TestSharesStayWithinZeroAndOne(t *testing.T) {
	for _, c := range []struct{ holds, n int }{{7, 10}, {10, 10}, {0, 4}, {37, 40}} {
		v := make([]float64, c.n)
		for i := range c.holds {
			v[i] = 1
		}
		e := ShareOf(v)
		low, high := e.Interval(.95)
		const z = 1.959963984540054
		for _, end := range []float64{low, high} {
			if off := math.Abs((e.Mean-end)*(e.Mean-end) - z*z*end*(1-end)/float64(c.n)); off > 1e-15 || end < 0 || end > 1 {
				t.Errorf("%d of %d: %v is no end, off by %g", c.holds, c.n, end, off)
			}
		}
		if !(low <= e.Mean && e.Mean <= high && low < high) {
			t.Errorf("%d of %d: %v to %v around %v", c.holds, c.n, low, high, e.Mean)
		}
	}
}

// The intervals on each scale contain the mean as often as the level requires.
func TestIntervalsCoverTheMean(t *testing.T) {
	src := synth.NewStream(2, "intervals")
	const trials = 4000
	for _, c := range []struct {
		name  string
		n     int
		draw  func() float64
		mean  float64
		of    func([]float64) Estimate
		level float64
		loose float64 // the coverage may differ from the level by so much, in addition to its scatter
	}{
		{"any number", 8, src.NormFloat64, 0, EstimateOf, .9, 0},
		{"share", 40, func() float64 { return math.Floor(src.Float64() + .9) }, .9, ShareOf, .95, .015}, // shares are discrete
		{"ratio", 40, func() float64 { return math.Exp(.3 * src.NormFloat64()) }, math.Exp(.045), RatioOf, .95, .01},
	} {
		covered := 0
		for range trials {
			v := make([]float64, c.n)
			for i := range v {
				v[i] = c.draw()
			}
			if low, high := c.of(v).Interval(c.level); low <= c.mean && c.mean <= high {
				covered++
			}
		}
		if share := float64(covered) / trials; math.Abs(share-c.level) > c.loose+3*math.Sqrt(c.level*(1-c.level)/trials) {
			t.Errorf("%s: %v of the intervals at %v cover the mean", c.name, share, c.level)
		}
	}
	if low, _ := RatioOf([]float64{.1, .1, 8}).Interval(.95); low <= 0 {
		t.Errorf("a ratio of %v", low)
	}
	if e := EstimateOf([]float64{1, 2, 3}); true {
		if low, high := e.Interval(.95); low != e.Mean-e.Margin || high != e.Mean+e.Margin {
			t.Errorf("%v to %v", low, high)
		}
	}
}

// Chance returns (1 − level)/2 at each end of the interval of that level.
func TestChanceBelongsToTheInterval(t *testing.T) {
	for _, e := range []Estimate{EstimateOf([]float64{-1, 2, 4, 3}), RatioOf([]float64{1, 2, 4, 3}), ShareOf([]float64{1, 0, 0, 1, 0, 0, .5, 1, 0, 0, 0})} {
		for _, level := range []float64{.9, .95} {
			low, high := e.Interval(level)
			for _, v := range []float64{low, high} {
				if got, want := e.Chance(v), (1-level)/2; math.Abs(got-want) > 1e-9 {
					t.Errorf("%+v at %v, the end of %v: %v, want %v", e, v, level, got, want)
				}
			}
		}
		if e.Chance(e.Mean) != .5 {
			t.Errorf("%+v at its mean: %v", e, e.Chance(e.Mean))
		}
	}
	all := ShareOf([]float64{1, 1, 1, 1})
	for _, c := range []struct {
		e       Estimate
		v, want float64
	}{{all, 1, .5}, {all, 0, 0}, {all, -.1, 0}, {all, 1.1, 0}, {RatioOf([]float64{1, 2}), 0, 0}, {RatioOf([]float64{1, 2}), -1, 0}} {
		if got := c.e.Chance(c.v); got != c.want {
			t.Errorf("%+v at %v: %v, want %v", c.e, c.v, got, c.want)
		}
	}
	ratio := RatioOf([]float64{1, 2})
	for _, c := range []struct {
		e          Estimate
		z, se, low float64
		high       float64
	}{{all, 3, .1, 1, 1}, {all, -3, .1, .7, .7}, {ShareOf([]float64{0, 0}), -3, .1, 0, 0}, {ratio, -50, .5, 0, 1e-6}, {EstimateOf([]float64{1, 2}), -50, .5, -23.5, -23.5}} {
		if got := c.e.Shifted(c.z, c.se).Mean; math.Abs(got-min(c.high, max(c.low, got))) > 1e-12 || c.e.Scale == Positive && got == 0 {
			t.Errorf("%+v by %v times %v: %v", c.e, c.z, c.se, got)
		}
	}
}

// A pool of estimates equals the estimate from all repetitions.
func TestPoolIsTheEstimateOfAll(t *testing.T) {
	src := synth.NewStream(3, "pool")
	var parts []Estimate
	var all []float64
	for k := range 5 {
		v := make([]float64, 4+3*k)
		for i := range v {
			v[i] = float64(k) + src.NormFloat64()
		}
		parts, all = append(parts, RatioOf(v)), append(all, v...)
	}
	pool := func(all ...Estimate) Estimate {
		t.Helper()
		p, err := Pool(all...)
		if err != nil {
			t.Error(err)
		}
		return p
	}
	p, want := pool(parts...), RatioOf(all)
	if math.Abs(p.Mean-want.Mean) > 1e-14 || math.Abs(p.Margin-want.Margin) > 1e-13 || p.N != want.N || p.Scale != want.Scale {
		t.Errorf("%+v, want %+v", p, want)
	}
	first, second := []float64{1, 0, 0, 0, .5}, []float64{1, 1, 0, 1, 1, 1, 1}
	shares, both := pool(ShareOf(first), ShareOf(second)), ShareOf(slices.Concat(first, second))
	low, high := shares.Interval(.95)
	if l, h := both.Interval(.95); math.Abs(l-low) > 1e-14 || math.Abs(h-high) > 1e-14 || math.Abs(shares.Margin-both.Margin) > 1e-14 {
		t.Errorf("%+v, want %+v", shares, both)
	}
	one := Estimate{Mean: 3, Margin: math.NaN(), N: 1}
	if p := pool(one, one); p.Mean != 3 || p.N != 1 || p.SE() != 0 {
		t.Errorf("of one value: %+v", p)
	}
	other := one
	other.Mean = 5
	if p := pool(one, other); p.Mean != 4 || p.N != 2 || !(p.Margin > 0) {
		t.Errorf("of two values: %+v", p)
	}
	one.Scale, other.Scale = Positive, Positive
	if p := pool(one, other); p.Scale != Positive {
		t.Errorf("of two values above 0: %+v", p)
	}
	unknown := parts[0] // the spread of its repetitions is unknown
	unknown.Margin = math.NaN()
	for _, all := range [][]Estimate{{one, parts[0]}, {parts[1], unknown}, {unknown, unknown}, {one, unknown}} {
		if _, err := Pool(all...); !errors.Is(err, ErrSpread) {
			t.Errorf("%+v: %v", all, err)
		}
	}
}

// Pool refuses estimates that no repetitions can give, and an empty list.
func TestPoolOfDamagedEstimates(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	sound := []Estimate{{1, .1, 5, AnyNumber}, {1, nan, 1, AnyNumber}, {nan, nan, 1, AnyNumber}, {0, 0, 9, Share}, {1, 0, 9, Share}, {0, 0, 9, Positive}}
	for _, e := range sound {
		if _, err := Pool(e, e); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
	for _, e := range []Estimate{{}, {1, nan, 0, AnyNumber}, {1, nan, -1, AnyNumber}, {1, -.1, 5, AnyNumber}, {1, inf, 5, AnyNumber}, {-inf, .1, 5, AnyNumber},
		{1, .1, 1, AnyNumber}, {1, 0, 1, AnyNumber}, {nan, .1, 5, AnyNumber}, {1, .1, math.MaxInt, AnyNumber}, {1e308, .1, 5, AnyNumber}, {1, 1e308, 5, AnyNumber}, {1.1, .1, 5, Share}, {-.1, .1, 5, Share}, {-.1, .1, 5, Positive}, {1, .1, 5, Positive + 1}, {1, .1, 5, -1}} {
		if _, err := Pool(sound[0], e); err == nil || errors.Is(err, ErrSpread) {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if p, err := Pool(Estimate{1e308, nan, 1, AnyNumber}, Estimate{-1e308, nan, 1, AnyNumber}); err == nil {
		t.Errorf("of large values: %+v", p)
	}
	if _, err := Pool(); err == nil {
		t.Error("no estimate: no error")
	}
}

func TestCompareCountsTiesHalf(t *testing.T) {
	c := Compare([]float64{1, 2, 3, 4}, []float64{2, 2, 2, 5})
	if c.Wins != .625 || c.Difference.Mean != -.25 {
		t.Errorf("%+v", c)
	}
	// Losses that differ by less than TieTol are a tie, in any unit.
	for _, unit := range []float64{1, 1e-9, 1e9} {
		if c := Compare([]float64{unit, unit * (1 - TieTol/3), unit * (1 - 3*TieTol), unit * (1 + 3*TieTol)}, []float64{unit, unit, unit, unit}); c.Wins != .5*(1+1)/4+.25 {
			t.Errorf("units of %g: %+v", unit, c)
		}
	}
}

func TestMedianIsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 8, 2}, 3}} {
		if m := MedianValue(c.v); m != c.want {
			t.Errorf("median of %v is %v", c.v, m)
		}
	}
}

func TestCellsReportProgressAndStops(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[int]bool)
	hooks := Hooks{Progress: func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		seen[done] = total == 20
	}}
	if _, err := Cells(context.Background(), hooks, 20, strconv.Itoa, func(int) (int, error) { return 0, nil }); err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 20; k++ {
		if !seen[k] {
			t.Errorf("no report of %d of 20", k)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := Cells(ctx, Hooks{}, 1000, strconv.Itoa, func(i int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		cancel()
		return 0, nil
	})
	if !errors.Is(err, context.Canceled) || calls > 200 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// memory is a Keeper that counts the calls of its methods.
type memory struct {
	mu     sync.Mutex
	kept   map[int]int
	loaded int
}

func (m *memory) Load(i int, cell any) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.kept[i]
	if ok {
		*cell.(*int) = v
		m.loaded++
	}
	return ok
}

func (m *memory) Keep(i int, cell any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[i] = *cell.(*int)
}

func TestKeptCellsAreNotComputedAgain(t *testing.T) {
	m := &memory{kept: make(map[int]int)}
	ctx, hooks := context.Background(), Hooks{Keeper: m}
	broken := errors.New("broken")
	_, err := Cells(ctx, hooks, 9, strconv.Itoa, func(i int) (int, error) {
		if i == 4 {
			return 0, broken
		}
		return i * i, nil
	})
	if !errors.Is(err, broken) || len(m.kept) != 8 {
		t.Fatalf("error %v with %d cells kept", err, len(m.kept))
	}
	values, err := Cells(ctx, hooks, 9, strconv.Itoa, func(i int) (int, error) {
		if i != 4 {
			t.Errorf("cell %d is computed again", i)
		}
		return i * i, nil
	})
	if err != nil || m.loaded != 8 {
		t.Fatalf("error %v with %d cells loaded", err, m.loaded)
	}
	for i, v := range values {
		if v != i*i {
			t.Errorf("cell %d is %d", i, v)
		}
	}
}

// The interval of the median has a coverage of at least .95 for a skewed population. For fewer than
// six values, it is infinite.
func TestMedianIntervalCoversTheMedian(t *testing.T) {
	const samples, n = 2000, 40
	src := synth.NewStream(3, "medians")
	covered := 0
	for range samples {
		v := make([]float64, n)
		for i := range v {
			v[i] = -math.Log(1 - src.Float64())
		}
		if m := MedianOf(v); m.Low <= math.Ln2 && math.Ln2 <= m.High {
			covered++
		}
	}
	if share := float64(covered) / samples; share < .94 || share > .985 {
		t.Errorf("the interval covers the median in %v of the samples", share)
	}
	if m := MedianOf([]float64{1, 2, 3, 4, 5}); !math.IsInf(m.High, 1) || m.Median != 3 {
		t.Errorf("%+v", m)
	}
	if m := MedianOf([]float64{6, 5, 4, 3, 2, 1}); m.Low != 1 || m.High != 6 || m.Median != 3.5 {
		t.Errorf("%+v", m)
	}
}
