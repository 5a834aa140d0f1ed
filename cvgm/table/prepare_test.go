package table

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// patientTable returns a table in which values of the column a are missing for large targets. A
// mean over all rows would therefore leak targets of validation rows.
func patientTable(t *testing.T) *Table {
	t.Helper()
	src := synth.NewStream(5, "patients")
	var b strings.Builder
	b.WriteString("a,b,ward,y\n")
	for i := range 40 {
		a, y := src.NormFloat64(), src.NormFloat64()
		b.WriteString(map[bool]string{true: "", false: decimal(a + 3*y)}[y > .5])
		b.WriteString("," + decimal(src.NormFloat64()))
		b.WriteString("," + []string{"east", "", "west", "north"}[i%4])
		b.WriteString("," + decimal(a+y) + "\n")
	}
	return readTable(t, CSV{MissingIn: map[string]MissingRule{"a": MissingIsMean, "ward": MissingIsMean}}, b.String())
}

// featuresByHand returns the features of all patients. The mean of the column a is over the
// training rows.
func featuresByHand(t *testing.T, table *Table, train []int) *mat.Dense {
	t.Helper()
	var s, n float64
	for _, i := range train {
		if a := table.x.At(i, 0); !math.IsNaN(a) {
			s += a
			n++
		}
	}
	rows, _ := table.Dims()
	x := mat.NewDense(rows, 5, nil)
	for i := range rows {
		a := table.x.At(i, 0)
		if math.IsNaN(a) {
			a = s / n
		}
		x.SetRow(i, []float64{a, table.x.At(i, 1), 0, 0, 0})
		if w := i % 4; w != 0 { // i%4 is east, missing, west or north; the features are east, north, west, missing
			x.Set(i, []int{0, 4, 3, 2}[w], 1)
		}
	}
	return x
}

func preparedConfig(t *testing.T, table *Table, edit func(*cvgm.Config)) cvgm.Config {
	t.Helper()
	d, encoder, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	splits := casetest.Must(cvgm.KFold(synth.NewStream(2, "prepared splits"), len(d.Y), 4))(t)
	c := cvgm.Config{Data: d, Prepare: encoder, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	if edit != nil {
		edit(&c)
	}
	return c
}

// leakyPreparer is an encoder that is fitted to all rows, including the validation rows.
type leakyPreparer struct {
	*Encoder
	all *mat.Dense
}

func (l leakyPreparer) Fit(*mat.Dense, []float64) (cvgm.Prepared, error) {
	return l.Encoder.Fit(l.all, nil)
}

// A CV fits its preparer only to the training rows of each split. As a control, the test detects a
// preparer that is fitted to all rows.
func TestPrepareLearnsFromTrainingRowsOnly(t *testing.T) {
	table := patientTable(t)
	classes := func(learner func() learn.Learner) func(*cvgm.Config) {
		return func(c *cvgm.Config) {
			c.Data.Y = slices.Clone(c.Data.Y)
			for i, y := range c.Data.Y {
				c.Data.Y[i] = math.Copysign(1, y)
			}
			c.Learner, c.Loss, c.Centring = learner, cvgm.LogisticLoss{}, cvgm.NoCentring
		}
	}
	alpha := []float64{.02, .1}
	for name, edit := range map[string]func(*cvgm.Config){
		"SVM":                     classes(func() learn.Learner { return new(margin.SVM) }),
		"kernel SVM":              classes(func() learn.Learner { return &kernel.SVM{Intercept: true} }),
		"standardised":            nil,
		"least squares intercept": func(c *cvgm.Config) { c.Centring = cvgm.FixedLeastSquares },
		"raw, where a subset learner could share a fit": func(c *cvgm.Config) { c.Standardise, c.Centring = false, cvgm.NoCentring },
	} {
		c := preparedConfig(t, table, edit)
		var want float64
		grad := make([]float64, 2)
		for _, s := range c.Splits {
			hand := c
			hand.Prepare, hand.Splits = nil, []cvgm.Split{s}
			hand.Data.X = featuresByHand(t, table, s.Train)
			loss, g := evalOnce(t, hand, alpha)
			want += loss / float64(len(c.Splits))
			for i := range g {
				grad[i] += g[i] / float64(len(c.Splits))
			}
		}
		got, g := evalOnce(t, c, alpha)
		if !casetest.Near(got, want, preparedTol) || !casetest.Near(g[0], grad[0], preparedTol) || !casetest.Near(g[1], grad[1], preparedTol) {
			t.Errorf("%s: loss %v, gradient %v; by hand %v, %v", name, got, g, want, grad)
		}
		leak := c
		leak.Prepare = leakyPreparer{c.Prepare.(*Encoder), c.Data.Dense()}
		if leaked, _ := evalOnce(t, leak, alpha); casetest.Near(leaked, want, 1e6*preparedTol) {
			t.Errorf("%s: the loss of a leaky preparer is %v, by hand %v", name, leaked, want)
		}
	}
}

// preparedTol bounds the relative rounding of means, fits, and sums in another order.
const preparedTol = 1e-11

func evalOnce(t *testing.T, c cvgm.Config, alpha []float64) (float64, []float64) {
	t.Helper()
	cv := casetest.Must(cvgm.New(c))(t)
	grad := make([]float64, len(alpha))
	loss := casetest.Must(cv.Eval(grad, alpha))(t)
	return loss, grad
}

// A row of weight 2 counts as two rows, also for the means that replace missing values.
func TestPrepareWeighs(t *testing.T) {
	table := patientTable(t)
	rows := sample.Complement(nil, len(table.Y))
	c := preparedConfig(t, table, nil)
	c.Data.Weights = slices.Repeat([]float64{1}, len(rows))
	c.Data.Weights[3], c.Data.Weights[8] = 2, 0
	repeated := preparedConfig(t, table.Rows(append(rows, 3)), nil)
	repeated.Splits = nil
	part := func(rows []int) []int {
		if slices.Contains(rows, 3) {
			rows = append(slices.Clone(rows), len(table.Y))
		}
		return slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return i == 8 })
	}
	for _, s := range c.Splits {
		repeated.Splits = append(repeated.Splits, cvgm.Split{Train: part(s.Train), Val: part(s.Val)})
	}
	alpha := []float64{.02, .1}
	got, grad := evalOnce(t, c, alpha)
	want, wantGrad := evalOnce(t, repeated, alpha)
	if !casetest.Near(got, want, preparedTol) || !floats.EqualApprox(grad, wantGrad, preparedTol) {
		t.Errorf("weighted: loss %v, gradient %v; repeated: %v, %v", got, grad, want, wantGrad)
	}
	c.Data.Weights = slices.Repeat([]float64{1}, len(rows))
	ones, _ := evalOnce(t, c, alpha)
	c.Data.Weights = nil
	if none, _ := evalOnce(t, c, alpha); none != ones {
		t.Errorf("weights of 1: %v, none: %v", ones, none)
	}
}

// A level that no training row has changes no fit and no prediction, unless it is the baseline.
func TestLevelsOfOtherRowsAreNoLeak(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,ward,y\n")
	src := synth.NewStream(6, "levels")
	for i := range 20 {
		b.WriteString(decimal(src.NormFloat64()) + "," + []string{"east", "north", "west"}[i%3] + "," + decimal(src.NormFloat64()+float64(i%3)-1) + "\n")
	}
	rows := sample.Complement(nil, 20)
	splits := []cvgm.Split{{Train: rows[:14], Val: rows[14:]}, {Train: rows[7:], Val: rows[:7]}}
	for name, learner := range map[string]func() learn.Learner{
		"elastic net": func() learn.Learner { return new(linear.ElasticNet) },
		"kernel SVM":  func() learn.Learner { return &kernel.SVM{Intercept: true} },
	} {
		var losses []float64
		for _, more := range []string{"", "0,zenith,1\n.3,,1\n1,zenith,-1\n1,,-1\n"} {
			table := readTable(t, CSV{MissingIn: map[string]MissingRule{"ward": MissingIsMean}}, b.String()+more)
			d, encoder, err := table.Data()
			if err != nil {
				t.Fatal(err)
			}
			c := cvgm.Config{Data: d, Prepare: encoder, Splits: splits, Loss: cvgm.SquaredError{}, Learner: learner, Standardise: true}
			if name == "kernel SVM" {
				for i, y := range d.Y {
					d.Y[i] = math.Copysign(1, y)
				}
			}
			loss, grad := evalOnce(t, c, []float64{.3, .2})
			losses = append(losses, loss, grad[0], grad[1])
		}
		if !floats.EqualApprox(losses[:3], losses[3:], preparedTol) {
			t.Errorf("%s: loss and gradient %v, and with levels of other rows %v", name, losses[:3], losses[3:])
		}
	}
}

// Final fits the preparer to all rows, and its model predicts from rows with the columns of Data.X.
func TestFinalModelPrepares(t *testing.T) {
	table := patientTable(t)
	all := sample.Complement(nil, len(table.Y))
	for name, edit := range map[string]func(*cvgm.Config){
		"linear": nil,
		"kernel": func(c *cvgm.Config) {
			c.Data.Y = slices.Clone(c.Data.Y)
			for i, y := range c.Data.Y {
				c.Data.Y[i] = math.Copysign(1, y)
			}
			c.Learner, c.Loss, c.Centring = func() learn.Learner { return &kernel.SVM{Intercept: true} }, cvgm.LogisticLoss{}, cvgm.NoCentring
		},
	} {
		c := preparedConfig(t, table, edit)
		hand := c
		hand.Prepare, hand.Data.X = nil, featuresByHand(t, table, all)
		final := func(c cvgm.Config) (m *cvgm.Model, predictions []float64, risk float64) {
			cv, err := cvgm.New(c)
			if err != nil {
				t.Fatal(name, err)
			}
			if m, err = cv.Final([]float64{.02, .1}); err != nil {
				t.Fatal(name, err)
			}
			predictions = make([]float64, len(all))
			if err := m.Predict(predictions, c.Data.Dense()); err != nil {
				t.Fatal(name, err)
			}
			if risk, err = m.Risk(c.Loss, c.Data); err != nil {
				t.Fatal(name, err)
			}
			return m, predictions, risk
		}
		m, predictions, risk := final(c)
		_, want, wantRisk := final(hand)
		if diff := cmp.Diff(want, predictions); diff != "" || risk != wantRisk {
			t.Errorf("%s: risk %v, by hand %v; predictions\n%s", name, risk, wantRisk, diff)
		}
		if err := m.Predict(make([]float64, len(all)), hand.Data.Dense()); !errors.Is(err, qpdiff.ErrShape) {
			t.Errorf("%s: features in place of columns: %v", name, err)
		}
		if text, err := m.MarshalJSON(); err == nil {
			t.Errorf("%s: a model without its encoder: %s", name, text)
		}
	}
}

// The type preparer implements cvgm.Preparer. Its methods call the functions in its fields.
type preparer struct {
	in, out int
	fit     func() (cvgm.Prepared, error)
	apply   func(dst, row []float64) error
}

func (p preparer) Dims() (in, out int)            { return p.in, p.out }
func (p preparer) Apply(dst, row []float64) error { return p.apply(dst, row) }
func (p preparer) Fit(*mat.Dense, []float64) (cvgm.Prepared, error) {
	if p.fit != nil {
		return p.fit()
	}
	return p, nil
}

func TestPrepareRefusals(t *testing.T) {
	table := patientTable(t)
	ones := func(dst, _ []float64) error {
		for j := range dst {
			dst[j] = 1
		}
		return nil
	}
	failed := errors.New("no power")
	for name, c := range map[string]struct {
		edit func(*cvgm.Config)
		want string
		kind error
	}{
		"missing values without a preparer": {func(c *cvgm.Config) { c.Prepare = nil }, "Data.X holds NaN", qpdiff.ErrNotFinite},
		"feature map":                       {func(c *cvgm.Config) { c.Features = &cvgm.LinearMap{In: 3, Out: 2} }, "Config.Features", qpdiff.ErrDomain},
		"other columns":                     {func(c *cvgm.Config) { c.Prepare = preparer{in: 2, out: 1, apply: ones} }, "takes 2 columns, and Data.X has 3", qpdiff.ErrShape},
		"no features":                       {func(c *cvgm.Config) { c.Prepare = preparer{in: 3, apply: ones} }, "0 features", qpdiff.ErrShape},
		"nothing fitted": {func(c *cvgm.Config) {
			c.Prepare = preparer{in: 3, out: 2, fit: func() (cvgm.Prepared, error) { return nil, nil }}
		}, "cvgm: split 0: Config.Prepare returns nil", qpdiff.ErrShape},
		"another shape fitted": {func(c *cvgm.Config) {
			c.Prepare = preparer{in: 3, out: 2, fit: func() (cvgm.Prepared, error) { return preparer{in: 3, out: 4, apply: ones}, nil }}
		}, "3 columns to 4 features", qpdiff.ErrShape},
		"a failed fit": {func(c *cvgm.Config) {
			c.Prepare = preparer{in: 3, out: 2, fit: func() (cvgm.Prepared, error) { return nil, failed }}
		}, "split 0", failed},
		"a failed row": {func(c *cvgm.Config) {
			c.Prepare = preparer{in: 3, out: 2, apply: func(_, _ []float64) error { return failed }}
		}, "prepare row", failed},
		"NaN": {func(c *cvgm.Config) {
			c.Prepare = preparer{in: 3, out: 3, apply: func(dst, row []float64) error { copy(dst, row); return nil }}
		}, "makes NaN of row", qpdiff.ErrNotFinite},
		"NaN in Y": {func(c *cvgm.Config) { c.Data.Y = slices.Clone(c.Data.Y); c.Data.Y[3] = math.NaN() }, "Data.Y holds NaN", qpdiff.ErrNotFinite},
		"weights":  {func(c *cvgm.Config) { c.Data.Weights = c.Data.Y }, "Weights", qpdiff.ErrDomain},
		"no rows":  {func(c *cvgm.Config) { c.Data.X = nil }, "Data.X is empty", qpdiff.ErrEmpty},
	} {
		_, err := cvgm.New(preparedConfig(t, table, c.edit))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v lacks %q", name, err, c.want)
		}
	}
}

// A preparer receives copies of the training rows and no validation rows.
func TestPrepareGetsCopiesOfTrainingRows(t *testing.T) {
	table := patientTable(t)
	c := preparedConfig(t, table, nil)
	before := mat.DenseCopyOf(c.Data.X)
	at := 0
	c.Prepare = spy{c.Prepare.(*Encoder), func(train *mat.Dense) {
		for i, row := range c.Splits[at].Train {
			if !hostile.SameBits(train.RawRowView(i), before.RawRowView(row)) {
				t.Errorf("split %d: training row %d differs", at, row)
			}
		}
		if r, _ := train.Dims(); r != len(c.Splits[at].Train) {
			t.Errorf("split %d: %d rows", at, r)
		}
		train.Zero()
		at++
	}}
	casetest.Must(cvgm.New(c))(t)
	if at != len(c.Splits) || !hostile.SameBits(c.Data.Dense().RawMatrix().Data, before.RawMatrix().Data) {
		t.Errorf("%d fits, or other data", at)
	}
}

type spy struct {
	*Encoder
	see func(*mat.Dense)
}

func (s spy) Fit(train *mat.Dense, weights []float64) (cvgm.Prepared, error) {
	fitted, err := s.Encoder.Fit(train, weights)
	s.see(train)
	return fitted, err
}

// The gradient in the labels equals the gradient for features computed by hand. The gradient in the
// rows is an error.
func TestPreparedDataGradient(t *testing.T) {
	table := patientTable(t)
	for name, edit := range map[string]func(*cvgm.Config){
		"elastic net": func(c *cvgm.Config) { c.Hyper = []float64{.02, .1} },
		"ties": func(c *cvgm.Config) {
			c.Data.Y = slices.Clone(c.Data.Y)
			for i, y := range c.Data.Y {
				c.Data.Y[i] = math.Copysign(1, y)
			}
			c.Data.Dense().SetRow(5, c.Data.Dense().RawRowView(1))
			c.Data.Y[5] = c.Data.Y[1]
			c.Learner, c.Loss, c.Centring = func() learn.Learner { return new(margin.SVM) }, cvgm.SquaredHinge{}, cvgm.NoCentring
			c.Hyper, c.Generalised = []float64{.01, .2}, true
		},
	} {
		c := preparedConfig(t, table, edit)
		dy := func(c cvgm.Config) []float64 {
			cv, err := cvgm.New(c)
			if err != nil {
				t.Fatal(name, err)
			}
			dy := make([]float64, len(c.Data.Y))
			if _, err := cv.DataGradient(nil, dy, nil); err != nil {
				t.Fatal(name, err)
			}
			return dy
		}
		got, want := dy(c), make([]float64, len(c.Data.Y))
		for _, s := range c.Splits {
			hand := c
			hand.Prepare, hand.Splits, hand.Data.X = nil, []cvgm.Split{s}, featuresByHand(t, table, s.Train)
			floats.AddScaled(want, 1/float64(len(c.Splits)), dy(hand))
		}
		if !floats.EqualApprox(got, want, preparedTol) || floats.Norm(got, 2) == 0 {
			t.Errorf("%s: dy %v, by hand %v", name, got, want)
		}
		cv, err := cvgm.New(c)
		if err != nil {
			t.Fatal(name, err)
		}
		dx := mat.NewDense(len(got), 3, nil)
		again := make([]float64, len(got))
		_, err = cv.DataGradient(dx, again, nil)
		if !errors.Is(err, qpdiff.ErrNotDifferentiable) || !strings.Contains(err.Error(), "Config.Prepare") || !math.IsNaN(dx.At(0, 0)) || !slices.Equal(again, got) {
			t.Errorf("%s: dx[0] = %v, dy %v, error %v", name, dx.At(0, 0), again, err)
		}
	}
}

// For a CV with a preparer, the number of workers changes no result, and an evaluation allocates no
// memory.
func TestPreparedEvaluations(t *testing.T) {
	c := preparedConfig(t, patientTable(t), nil)
	alpha := []float64{.02, .1}
	var losses []float64
	for _, workers := range []int{1, 3, 8} {
		c.Workers = workers
		loss, grad := evalOnce(t, c, alpha)
		losses = append(losses, loss, grad[0], grad[1])
	}
	if !slices.Equal(losses[:3], losses[3:6]) || !slices.Equal(losses[:3], losses[6:]) {
		t.Errorf("by workers: %v", losses)
	}
	c.Workers = 1
	cv, err := cvgm.New(c)
	if err != nil {
		t.Fatal(err)
	}
	grad := make([]float64, 2)
	if n := testing.AllocsPerRun(10, func() {
		if _, err := cv.Eval(grad, alpha); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
