package table

import (
	"fmt"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// A Table holds the examples that CSV.Read returns: the values of the columns, and the target. A
// Table must not be changed. It is safe for concurrent use.
type Table struct {
	// Columns are in the order of the file. They do not include the target, the group, the weights
	// and ignored columns.
	Columns []Column
	Target  string // the name of the target's column
	// Y holds the target of each row: a number, ±1 for two classes or, for three or more classes,
	// the index of the row's class in Classes. Y is nil if a table for predictions has no target.
	Y []float64
	// Classes holds the classes of the target. Two classes are in the order −1, +1. Three or more
	// classes are sorted. Classes is nil if the target is a number.
	Classes []string
	// Groups holds the number of each row's group, counted from 0 by first appearance. Groups is
	// nil without CSV.Group.
	Groups []int
	// TargetNumber describes how the numbers of the target are written. Nil: as plain decimal
	// numbers.
	TargetNumber *Number
	// Notes holds the choices that CSV.Read, Pipeline.Read or Pipeline.Record made for columns
	// whose texts allow several readings. In notes of Pipeline.Read and Pipeline.Record, Field is a
	// field of the CSV of the training table.
	Notes []Note
	// Weights holds the weight of each row. Weights is nil without CSV.Weights.
	Weights []float64
	// Lines holds the line of the file on which each row begins. Rows that were left out have no
	// entry.
	Lines []int

	// x holds the values. The value of a numeric column is a number, and the value of a categorical
	// column is an index in Levels. NaN is a missing value, and len(Levels) is an unknown level.
	x *mat.Dense
	// weightsName and groupName are the names of the columns of Weights and Groups. droppedRows is the
	// number of rows that were left out.
	weightsName, groupName string
	droppedRows            int
	reader                 *csvReader
	restClass              string // the class of all texts that are not in Classes; empty: there is no such class
	ignoreCase             bool   // a text that differs from a class by the case of letters alone is this class
}

// check returns an error for a table that no function of this package has read.
func (t *Table) check() error {
	return args.BadIf(t == nil || t.x == nil, "Table", qpdiff.ErrEmpty, "read one with CSV.Read, Pipeline.Read or Pipeline.Record", "is nil or holds no values")
}

// Dims returns the number of rows and of columns.
func (t *Table) Dims() (rows, columns int) { return t.x.Dims() }

// Rows returns a table of the rows of t with the indices i, in the order of i. The columns, levels
// and classes are the same as in t. Rows panics if an index is out of range, or if i is empty.
func (t *Table) Rows(i []int) *Table {
	_, p := t.x.Dims()
	part := *t
	part.x = mat.NewDense(len(i), p, nil)
	sample.Gather(part.x.RawMatrix().Data, t.x, i)
	part.Y, part.Groups, part.Lines = sample.Pick(t.Y, i), sample.Pick(t.Groups, i), sample.Pick(t.Lines, i)
	part.Weights = sample.Pick(t.Weights, i)
	return &part
}

// Binary returns t with the target +1 for the given class and −1 for all other classes. If t has
// more than two classes, the class −1 has the name "not " followed by the given class. For an
// unknown class or a numeric target, the error is of kind ErrDomain.
func (t *Table) Binary(class string) (*Table, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	at := slices.Index(t.Classes, class)
	if at < 0 {
		return nil, args.Bad("class", qpdiff.ErrDomain, t.classRemedy(), "is %q, which is not a class of the target %q", class, t.Target)
	}
	binary := *t
	rest := "not " + class
	value := float64(at)
	if len(t.Classes) > 2 {
		binary.restClass = rest
	} else {
		rest = t.Classes[1-at]
		value = float64(2*at - 1)
	}
	binary.Classes = []string{rest, class}
	binary.Y = slices.Clone(t.Y)
	for i, y := range t.Y {
		binary.Y[i] = -1
		if y == value {
			binary.Y[i] = 1
		}
	}
	return &binary, nil
}

func (t *Table) classRemedy() string {
	if len(t.Classes) == 0 {
		return "read the table with CSV.Positive, which makes numbers classes"
	}
	return fmt.Sprintf("name one of %q", t.Classes)
}

// Data returns the input of [cvgm.New]. The first result holds the values and the target, and is
// for Config.Data. The encoder turns the values into features, and is for Config.Prepare. The
// values cannot be used without the encoder, because they hold indices of levels, and NaN for
// missing values. The values share storage with the table.
//
// Data returns an error for a table without a target, and for a target of more than two classes;
// see [Table.Binary] and [Table.ClassData]. If the dense features of all levels would exceed
// CSV.MaxBytes, the error is of kind [qpdiff.ErrTooLarge]. The limit does not apply if only few of
// the features are stored; see [cvgm.StoredPreparer].
func (t *Table) Data() (learn.Data, *Encoder, error) {
	if err := t.check(); err != nil {
		return learn.Data{}, nil, err
	}
	if len(t.Classes) > 2 {
		return learn.Data{}, nil, args.Bad("Table", qpdiff.ErrDomain, "learn one class against the others with Table.Binary, or all at once with Table.ClassData",
			"has the %d classes %q as its target", len(t.Classes), t.Classes)
	}
	return t.data()
}

// ClassData does the work of the method Data for a [learn.ClassLearner] of three or more classes.
// The labels are the indices of the classes. [cvgm.CV.FinalClasses] returns the models of the
// classes, and [NewJoint] joins them. With fewer than three classes, the error is of kind
// ErrDomain.
func (t *Table) ClassData() (learn.Data, *Encoder, error) {
	if err := t.check(); err != nil {
		return learn.Data{}, nil, err
	}
	if err := t.checkClasses(); err != nil {
		return learn.Data{}, nil, err
	}
	return t.data()
}

// checkClasses returns an error unless the table has a target of three or more classes.
func (t *Table) checkClasses() error {
	return args.First(t.checkTarget(),
		args.BadIf(len(t.Classes) < 3, "Table", qpdiff.ErrDomain, "use Data, or read one with a target of three or more classes", "has the classes %q in its target %q", t.Classes, t.Target))
}

// checkTarget returns an error if the table has no target.
func (t *Table) checkTarget() error {
	return args.BadIf(t.Y == nil, "Table", qpdiff.ErrEmpty, "read one with the target's column", "has no target %q", t.Target)
}

// data is Data for any number of classes.
func (t *Table) data() (learn.Data, *Encoder, error) {
	if err := t.checkTarget(); err != nil {
		return learn.Data{}, nil, err
	}
	e := newEncoder(t)
	_, m := e.Dims()
	if m == 0 {
		return learn.Data{}, nil, args.Bad("Table", qpdiff.ErrEmpty, "add a column that varies", "has no features: each column has one level only")
	}
	rows, columns := t.Dims()
	need, bound := memory.Bytes(8*float64(rows)*float64(m)), memory.Bound(t.reader.maxBytes)
	if sample.MostStored(e) == 0 && m > columns && need > bound {
		return learn.Data{}, nil, args.Bad("Table", qpdiff.ErrTooLarge, "put it into Ignore, merge its levels, or raise CSV.MaxBytes",
			"%s: it makes %d features of each of %d rows%s", memory.Needs(need, bound), m, rows, sample.Widest(e))
	}
	return learn.Data{X: t.x, Y: t.Y, Weights: t.Weights}, e, nil
}

func newEncoder(t *Table) *Encoder {
	return &Encoder{columns: t.Columns, target: t.Target, classes: t.Classes, restClass: t.restClass, ignoreCase: t.ignoreCase, number: t.TargetNumber, reader: t.reader}
}
