package table

import (
	"fmt"
	"io"
	"math"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/interval"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Pipeline predicts from texts. It consists of a [cvgm.Model] and the classes of the target. The
// [Encoder] in the model makes the model's features. [NewPipeline] makes a Pipeline. A program that
// only predicts needs nothing but the JSON of a Pipeline. A Pipeline is safe for concurrent use.
type Pipeline struct {
	Model   *cvgm.Model // Model.Prepared is an *Encoder
	Target  string
	Classes []string // the class −1 and the class +1; nil: the target is a number
	// Intervals predicts intervals of a numeric target. Its models have the same columns as Model.
	// If Intervals is nil, there are no intervals.
	Intervals *interval.CVPlus
}

// NewPipeline joins a model with the classes of its table. The model must come from
// [cvgm.CV.Final], with the encoder of [Table.Data] as Config.Prepare. Errors are of kind ErrEmpty
// for a nil model, and otherwise of kind ErrShape.
func NewPipeline(m *cvgm.Model) (*Pipeline, error) {
	p := &Pipeline{Model: m}
	if e, ok := preparedBy(m); ok {
		p.Target, p.Classes = e.target, e.classes
	}
	if _, err := p.encoder(); err != nil {
		return nil, err
	}
	return p, nil
}

// preparedBy returns the encoder of a model, and whether the model has one.
func preparedBy(m *cvgm.Model) (*Encoder, bool) {
	if m == nil {
		return nil, false
	}
	e, ok := m.Prepared.(*Encoder)
	return e, ok
}

// encoder returns the encoder of the pipeline. If the parts of the pipeline do not fit together, it
// returns an error.
func (p *Pipeline) encoder() (*Encoder, error) {
	if p == nil {
		return nil, args.Bad("Pipeline", qpdiff.ErrEmpty, "make one with NewPipeline or Tuner.TuneTable; a search that was stopped has none", "is nil")
	}
	if p.Model == nil {
		return nil, args.Bad("Pipeline.Model", qpdiff.ErrEmpty, "make one with NewPipeline, or read one from JSON", "is nil")
	}
	e, ok := p.Model.Prepared.(*Encoder)
	if !ok || e.code == nil {
		return nil, args.Bad("Pipeline.Model", qpdiff.ErrShape, "keep the parts of a pipeline together", "has Prepared %T instead of a fitted *Encoder", p.Model.Prepared)
	}
	if n := len(p.Classes); n != 0 && n != 2 || n == 2 && p.Classes[0] == p.Classes[1] {
		return nil, args.Bad("Pipeline.Classes", qpdiff.ErrShape, "give two classes or none", "are %q", firstOf(p.Classes))
	}
	_, features := e.Dims()
	return e, checkFeatures(features, p.Model)
}

// checkFeatures returns an error unless an encoder with the given number of features fits the model.
func checkFeatures(features int, m *cvgm.Model) error {
	return args.BadIf(features != len(m.Mean), "Model.Prepared", qpdiff.ErrShape, "keep the parts of a pipeline together", "has %d outputs where the model has %d features", features, len(m.Mean))
}

// Read reads the rows of a CSV for predictions. The CSV must have the columns of the model, in any
// order. It may have the target's column. Read ignores all other columns. Read treats numbers,
// levels and missing values as the model's table does. There is one exception: a missing value in a
// column with MissingDropsRow is an error, because each record must give one row. If some numbers
// of a column lack its unit, the table gets a note that names the column.
//
// Read returns the errors of [CSV.Read]. The bound MaxBytes is the bound in the CSV of the model's
// table, or the default if the pipeline was read from JSON.
func (p *Pipeline) Read(r io.Reader) (*Table, error) {
	e, err := p.encoder()
	if err != nil {
		return nil, err
	}
	return p.readClasses(r, p.Classes, e.restClass)
}

// readClasses is Read for a target with the given classes. If otherClass is not empty, it is the
// class of all other texts.
func (p *Pipeline) readClasses(r io.Reader, classes []string, otherClass string) (*Table, error) {
	e, err := p.encoder()
	if err != nil {
		return nil, err
	}
	text, err := e.reader.header(r)
	if err != nil {
		return nil, err
	}
	at := make([]int, len(e.columns))
	for j, c := range e.columns {
		i, ok := text.at[c.source()]
		if other := text.otherComma(); !ok && other != 0 {
			return nil, args.Bad("CSV", qpdiff.ErrShape, fmt.Sprintf("separate the fields by %q, as in the table of the model", string(e.reader.comma)),
				"lacks column %q: line 1, %q, has one field, unless %q separates fields", c.source(), text.header[0], string(other))
		}
		if !ok {
			return nil, args.Bad("CSV", qpdiff.ErrShape, fmt.Sprintf("add it to %q", firstOf(text.header)), "lacks column %q", c.source())
		}
		at[j] = i
	}
	if err := text.readRecords(); err != nil {
		return nil, err
	}
	t := p.table(e, text.lines)
	t.Classes, t.restClass = classes, otherClass
	if err := t.readColumns(text, at); err != nil {
		return nil, err
	}
	t.noteLackingUnits(text.records, at)
	if i, ok := text.at[p.Target]; ok {
		if err := t.readTarget(text, i); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// noteLackingUnits adds a note on each column whose numbers have a unit, if the unit is lacking in
// some rows. Column j of the table is made from field origin[j] of each record.
func (t *Table) noteLackingUnits(records [][]string, origin []int) {
	for j, i := range origin {
		c, count := &t.Columns[j], newCensus()
		if c.Number == nil || c.Number.Unit == "" {
			continue
		}
		for _, record := range records {
			if !t.reader.isMissing(record[i]) {
				count.add(record[i])
			}
		}
		if count.units[""] > 0 {
			t.Notes = append(t.Notes, count.lackingNote(c.Name, c.Number.Unit))
		}
	}
}

// table returns a table without values.
func (p *Pipeline) table(e *Encoder, lines []int) *Table {
	return &Table{Columns: e.columns, Target: p.Target, Classes: p.Classes, TargetNumber: e.number, Lines: lines, reader: e.reader, restClass: e.restClass, ignoreCase: e.ignoreCase}
}

// Record returns a table of one row. The argument is a map from the names of the model's columns to
// the texts that a CSV would hold. All other names are ignored. Notes of the table list the numbers
// that lack a unit, as in Read.
func (p *Pipeline) Record(fields map[string]string) (*Table, error) {
	e, err := p.encoder()
	if err != nil {
		return nil, err
	}
	t := p.table(e, []int{1})
	t.x = mat.NewDense(1, len(e.columns), nil)
	record, origin := make([]string, len(e.columns)), make([]int, len(e.columns))
	for j := range e.columns {
		c := &e.columns[j]
		field, ok := fields[c.source()]
		if !ok {
			return nil, args.Bad("record", qpdiff.ErrShape, "add it", "lacks column %q", c.source())
		}
		record[j], origin[j] = strings.TrimSpace(field), j
		v, err := c.value(&e.code[j], record[j])
		if err != nil {
			return nil, args.At(err, "record")
		}
		t.x.Set(0, j, v)
	}
	t.noteLackingUnits([][]string{record}, origin)
	return t, nil
}

// Decision returns the model's prediction for each row. The prediction is a number. For two
// classes, a number above 0 predicts Classes[1].
//
// The result has the same bits on amd64 and arm64, unless the type of the kernel is from another
// package. For a kernel machine, Model.Predict differs from Decision by rounding, because
// Model.Predict uses math.Exp.
//
// The table must come from Read or Record, or must be the table on which the model was trained. If
// its columns or levels differ from the model's, the error is of kind ErrDomain, because the same
// level may then have another index.
func (p *Pipeline) Decision(t *Table) ([]float64, error) {
	e, err := p.encoder()
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.checkColumns(e); err != nil {
		return nil, err
	}
	decisions := make([]float64, t.x.RawMatrix().Rows)
	if err := portableModel(p.Model).Predict(decisions, t.x); err != nil {
		return nil, err
	}
	return decisions, nil
}

// checkColumns returns an error if the columns of the table differ from the columns of e.
func (t *Table) checkColumns(e *Encoder) error {
	same := sameColumns(t.Columns, e.columns)
	return args.BadIf(!same, "Table", qpdiff.ErrDomain, "read the table with Pipeline.Read", "has other columns or levels than the model's table")
}

// Predict returns the prediction for each row, in the numbers of Table.Y. For a numeric target, the
// prediction is the decision or, with Model.LogMean, exp(decision). For two classes, the prediction
// is +1 if the decision is above 0, and otherwise −1. Predict returns the errors of Decision. If
// exp(decision) overflows, the error is of kind ErrNotFinite.
func (p *Pipeline) Predict(t *Table) ([]float64, error) {
	predictions, err := p.Decision(t)
	if err != nil {
		return nil, err
	}
	if p.Model.LogMean {
		for i, d := range predictions {
			if predictions[i] = portable.Exp(d); !args.Finite(predictions[i]) {
				return nil, args.Bad("Table", qpdiff.ErrNotFinite, "use Decision", "has e to the power %v as the prediction for row %d", d, i)
			}
		}
	}
	if len(p.Classes) == 0 {
		return predictions, nil
	}
	for i, d := range predictions {
		predictions[i] = -1
		if d > 0 {
			predictions[i] = 1
		}
	}
	return predictions, nil
}

// PredictRecord is Predict for one row, with the same argument as Record.
func (p *Pipeline) PredictRecord(fields map[string]string) (float64, error) {
	t, err := p.Record(fields)
	if err != nil {
		return math.NaN(), err
	}
	predictions, err := p.Predict(t)
	if err != nil {
		return math.NaN(), err
	}
	return predictions[0], nil
}

// Class returns the predicted class of each row. For a numeric target it returns an error of kind
// ErrDomain. Other errors come from Decision.
func (p *Pipeline) Class(t *Table) ([]string, error) {
	if p != nil && len(p.Classes) == 0 { // Decision reports a nil pipeline
		return nil, args.Bad("Pipeline.Classes", qpdiff.ErrDomain, "use Predict, or read the training table with CSV.Positive", "is empty: the target %q is a number", p.Target)
	}
	predictions, err := p.Predict(t)
	if err != nil {
		return nil, err
	}
	classes := make([]string, len(predictions))
	for i, y := range predictions {
		classes[i] = p.Classes[int(1+y)/2]
	}
	return classes, nil
}

// Probability returns the probability of Classes[1] for each row, 1/(1 + exp(−decision)).
// Classes[1] is the class with the label +1. Model.LogOdds must be set. Without it, the decisions
// are not log odds, and the error is of kind ErrDomain.
func (p *Pipeline) Probability(t *Table) ([]float64, error) {
	if p != nil && p.Model != nil && !p.Model.LogOdds { // Decision reports a nil pipeline
		return nil, args.Bad("Model.LogOdds", qpdiff.ErrDomain, "train a linear.Logistic or linear.SparseLogistic, or use Decision", "is false: the model's predictions are not log odds")
	}
	probabilities, err := p.Decision(t)
	if err != nil {
		return nil, err
	}
	for i, d := range probabilities {
		probabilities[i] = portable.Logistic(d)
	}
	return probabilities, nil
}
