package table

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/strictjson"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// OneVsRest predicts one of three or more classes from texts. It has a [Pipeline] for each class,
// all with the same columns. Without Joint, each pipeline is a model of one class against all
// others. With Joint, the pipelines are the parts of one model of all classes. The predicted class
// of a row is the class with the largest decision. OneVsRest is safe for concurrent use.
type OneVsRest struct {
	// Pipelines has one pipeline for each class. In each pipeline, Classes[1] is the name of the
	// pipeline's own class.
	Pipelines []*Pipeline
	// Joint is set if the decisions belong to one model of all classes, which
	// [cvgm.CV.FinalClasses] fits. The probability of class c is then exp(decision_c)/Σ_k
	// exp(decision_k). A decision has no meaning without the decisions of the other classes.
	// [NewJoint] sets Joint.
	Joint bool
}

// NewOneVsRest joins the pipelines of the classes of one table. If there is no pipeline, or one of
// them is nil, the error is of kind ErrEmpty. Other errors are of kind ErrShape.
func NewOneVsRest(pipelines []*Pipeline) (*OneVsRest, error) {
	c := &OneVsRest{Pipelines: slices.Clone(pipelines)}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

// NewJoint joins the models that [cvgm.CV.FinalClasses] returns. Config.Prepare of this CV must be
// the encoder of [Table.ClassData]. If there is no model, or one of them is nil, the error is of
// kind ErrEmpty. Other errors are of kind ErrShape.
func NewJoint(models []*cvgm.Model) (*OneVsRest, error) {
	c := &OneVsRest{Joint: true}
	for k, m := range models {
		p, err := NewPipeline(m)
		if e, ok := preparedBy(m); ok && len(e.classes) > 2 {
			if len(e.classes) != len(models) {
				return nil, args.Bad("models", qpdiff.ErrShape, "give all of CV.FinalClasses", "are %d for the %d classes of the target %q", len(models), len(e.classes), e.target)
			}
			own, encoder := *m, *e
			encoder.restClass = "not " + e.classes[k]
			encoder.classes = []string{encoder.restClass, e.classes[k]}
			own.Prepared = &encoder
			p, err = NewPipeline(&own)
		}
		if err != nil {
			return nil, args.At(err, "models[%d]", k)
		}
		c.Pipelines = append(c.Pipelines, p)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

// check returns an error if the pipelines do not fit together.
func (c *OneVsRest) check() error {
	if c == nil {
		return args.Bad("OneVsRest", qpdiff.ErrEmpty, "make one with NewOneVsRest or NewJoint", "is nil")
	}
	if err := args.TooFew("OneVsRest.Pipelines", len(c.Pipelines), 3, "give one for each of three or more classes, or use a Pipeline"); err != nil {
		return err
	}
	first, err := c.Pipelines[0].encoder()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for k, p := range c.Pipelines {
		e, err := p.encoder()
		if err != nil {
			return args.At(err, "OneVsRest.Pipelines[%d]", k)
		}
		same := sameColumns(first.columns, e.columns)
		if err := args.First(
			args.BadIf(len(p.Classes) != 2, "OneVsRest.Pipelines", qpdiff.ErrEmpty, "train it on Table.Binary of a class", "has no classes in number %d", k),
			args.BadIf(!same || p.Target != c.Pipelines[0].Target, "OneVsRest.Pipelines", qpdiff.ErrShape, "train all on one table", "has other columns or another target in number %d", k),
		); err != nil {
			return err
		}
		if class := p.Classes[1]; seen[class] {
			return args.Bad("OneVsRest.Pipelines", qpdiff.ErrShape, "give one for each class", "has the class %q twice", class)
		}
		seen[p.Classes[1]] = true
	}
	return nil
}

// Classes returns the classes in the order of the pipelines.
func (c *OneVsRest) Classes() []string {
	var classes []string
	for _, p := range c.Pipelines {
		classes = append(classes, p.Classes[1])
	}
	return classes
}

// Read reads a table as [Pipeline.Read] does. If the CSV has a column of the target, the texts of
// this column must be names of classes, and Table.Y holds the indices of these classes.
func (c *OneVsRest) Read(r io.Reader) (*Table, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return c.Pipelines[0].readClasses(r, c.Classes(), "")
}

// Record returns a table of one row as [Pipeline.Record] does.
func (c *OneVsRest) Record(fields map[string]string) (*Table, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t, err := c.Pipelines[0].Record(fields)
	if err != nil {
		return nil, err
	}
	t.Classes, t.restClass = c.Classes(), ""
	return t, nil
}

// Decision returns the decision of each class for each row, as a matrix of rows × classes. It
// returns the errors of [Pipeline.Decision].
func (c *OneVsRest) Decision(t *Table) (*mat.Dense, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var all *mat.Dense
	for k, p := range c.Pipelines {
		decisions, err := p.Decision(t)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			all = mat.NewDense(len(decisions), len(c.Pipelines), nil)
		}
		all.SetCol(k, decisions)
	}
	return all, nil
}

// Class returns the class with the largest decision for each row. If several decisions are largest,
// it returns the first of their classes. Class returns the errors of Decision.
func (c *OneVsRest) Class(t *Table) ([]string, error) {
	decisions, err := c.Decision(t)
	if err != nil {
		return nil, err
	}
	rows, _ := decisions.Dims()
	classes, names := make([]string, rows), c.Classes()
	for i := range rows {
		row := decisions.RawRowView(i)
		most := 0
		for k, d := range row {
			if d > row[most] {
				most = k
			}
		}
		classes[i] = names[most]
	}
	return classes, nil
}

// PredictRecord is Class for one row, with the same argument as Record.
func (c *OneVsRest) PredictRecord(fields map[string]string) (string, error) {
	t, err := c.Record(fields)
	if err != nil {
		return "", err
	}
	classes, err := c.Class(t)
	if err != nil {
		return "", err
	}
	return classes[0], nil
}

// Probability returns the probability of each class for each row, as a matrix of rows × classes.
// Without Joint, it is the probability from the pipeline of the class, divided by the sum of these
// probabilities over the classes. Each pipeline then requires Model.LogOdds, as for
// [Pipeline.Probability]. With Joint, the probability of class c is exp(decision_c)/Σ_k
// exp(decision_k), and Model.LogOdds is not required.
func (c *OneVsRest) Probability(t *Table) (*mat.Dense, error) {
	decisions, err := c.Decision(t)
	if err != nil {
		return nil, err
	}
	rows, _ := decisions.Dims()
	if c.Joint {
		for i := range rows {
			portable.Softmax(decisions.RawRowView(i))
		}
		return decisions, nil
	}
	for k, p := range c.Pipelines {
		if !p.Model.LogOdds {
			return nil, args.Bad("Model.LogOdds", qpdiff.ErrDomain, "train a linear.Logistic or linear.SparseLogistic, or use Decision", "is false for class %q: the model's predictions are not log odds", c.Pipelines[k].Classes[1])
		}
	}
	for i := range rows {
		portable.Shares(decisions.RawRowView(i))
	}
	return decisions, nil
}

// Accuracy returns the share of rows whose predicted class equals the class in the table. The
// target of the table must have three or more classes; otherwise the error is of kind ErrDomain, or
// of kind ErrEmpty if the table has no target.
func (c *OneVsRest) Accuracy(t *Table) (float64, error) {
	classes, err := c.Class(t)
	if err != nil {
		return math.NaN(), err
	}
	if err := t.checkClasses(); err != nil {
		return math.NaN(), err
	}
	right := 0
	for i, class := range classes {
		if t.Classes[int(t.Y[i])] == class {
			right++
		}
	}
	return float64(right) / float64(len(classes)), nil
}

const (
	oneVsRestFormat  = "cvgm one against the rest"
	oneVsRestVersion = 1
	jointVersion     = 2 // with Joint
)

// oneVsRestJSON is the JSON form of a OneVsRest.
type oneVsRestJSON struct {
	Format    string            `json:"format"`
	Version   int               `json:"version"`
	Pipelines []json.RawMessage `json:"pipelines"`
}

// MarshalJSON writes the pipelines and a checksum. If Joint is set, the text has version 2 of the
// format. Otherwise it has version 1, which earlier programs can read. MarshalJSON returns the
// errors of [Pipeline.MarshalJSON].
func (c OneVsRest) MarshalJSON() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	out := oneVsRestJSON{Format: oneVsRestFormat, Version: oneVsRestVersion}
	if c.Joint {
		out.Version = jointVersion
	}
	for _, p := range c.Pipelines {
		text, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		out.Pipelines = append(out.Pipelines, text)
	}
	return strictjson.WithChecksum(out)
}

// UnmarshalJSON reads text that MarshalJSON wrote. The predictions have the same bits as before
// writing. The errors are of the same kinds as for [Pipeline.UnmarshalJSON]. After an error, c is
// unchanged.
func (c *OneVsRest) UnmarshalJSON(text []byte) error {
	var in oneVsRestJSON
	const remedy = "read the text that MarshalJSON wrote, with this version of the package or a later one"
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("cvgm: not one against the rest (%w): %s", err, remedy)
	}
	if err := args.First(
		args.BadIf(in.Format != oneVsRestFormat, "format", qpdiff.ErrDomain, remedy, "is %q instead of %q", in.Format, oneVsRestFormat),
		args.BadIf(in.Version != oneVsRestVersion && in.Version != jointVersion, "version", qpdiff.ErrDomain, remedy, "is %d instead of %d or %d", in.Version, oneVsRestVersion, jointVersion),
	); err != nil {
		return err
	}
	keys := map[string]map[string]bool{
		"classifier": {"format": true, "version": true, "pipelines": true, strictjson.ChecksumKey: false},
		"pipelines":  nil,
	}
	if err := strictjson.Read(text, keys, "classifier", &in); err != nil {
		return err
	}
	read := OneVsRest{Joint: in.Version == jointVersion}
	for k, p := range in.Pipelines {
		pipeline := new(Pipeline)
		if err := json.Unmarshal(p, pipeline); err != nil {
			return args.At(err, "pipeline %d", k)
		}
		read.Pipelines = append(read.Pipelines, pipeline)
	}
	if err := read.check(); err != nil {
		return err
	}
	if err := strictjson.Verify(text); err != nil {
		return err
	}
	*c = read
	return nil
}
