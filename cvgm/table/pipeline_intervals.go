package table

import (
	"encoding/json"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/interval"
	"cvgm/qpdiff"
)

// Interval returns the ends of a prediction interval for each row. level is the level of the
// intervals, such as .9: see [interval.CVPlus.Predict]. Interval requires the field Intervals,
// which Tuner.Intervals makes; without it, the error is of kind ErrEmpty. Other errors come from
// Decision and from CVPlus.Predict. Like decisions, the ends have the same bits on amd64 and arm64.
// For a model with a kernel, the ends equal the results of CVPlus.Predict up to rounding.
func (p *Pipeline) Interval(t *Table, level float64) (low, high []float64, err error) {
	e, err := p.encoder()
	if err != nil {
		return nil, nil, err
	}
	if err := p.checkIntervals(e); err != nil {
		return nil, nil, err
	}
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	if err := t.checkColumns(e); err != nil {
		return nil, nil, err
	}
	predictions := make([][]float64, len(p.Intervals.Folds))
	for k, f := range p.Intervals.Folds {
		predictions[k] = make([]float64, t.x.RawMatrix().Rows)
		if err := portableModel(f.Model).Predict(predictions[k], t.x); err != nil {
			return nil, nil, err
		}
	}
	return p.Intervals.Around(predictions, level)
}

// IntervalRecord is Interval for one row, with the same argument as Record. With an error, both ends
// are NaN.
func (p *Pipeline) IntervalRecord(fields map[string]string, level float64) (low, high float64, err error) {
	t, err := p.Record(fields)
	if err != nil {
		return math.NaN(), math.NaN(), err
	}
	lows, highs, err := p.Interval(t, level)
	if err != nil {
		return math.NaN(), math.NaN(), err
	}
	return lows[0], highs[0], nil
}

// checkIntervals returns an error if there are no intervals, or if the columns of their models
// differ from the encoder's.
func (p *Pipeline) checkIntervals(e *Encoder) error {
	if p.Intervals == nil {
		return args.Bad("Pipeline.Intervals", qpdiff.ErrEmpty, "set Tuner.Intervals, for a target that is a number", "is nil")
	}
	if p.Classes != nil {
		return args.Bad("Pipeline.Intervals", qpdiff.ErrDomain, "leave them out", "are given for a target of classes")
	}
	for k, f := range p.Intervals.Folds {
		if f.Model == nil {
			return p.Intervals.Check() // Check names the fold
		}
		own, ok := f.Model.Prepared.(*Encoder)
		if !ok || own.code == nil || !sameColumns(own.columns, e.columns) {
			return args.Bad("Pipeline.Intervals", qpdiff.ErrShape, "keep the parts of a pipeline together", "have a model of other columns in fold %d", k)
		}
	}
	return nil
}

// intervalsJSON is the JSON form of the intervals of a pipeline.
type intervalsJSON struct {
	Units int        `json:"units"`
	Folds []foldJSON `json:"folds"`
}

type foldJSON struct {
	Means   []float64       `json:"means,omitempty"`  // of the columns whose missing values become the mean, in their order
	Scales  []scaleJSON     `json:"scales,omitempty"` // of the columns with a ScaledEffect, in their order
	Model   json.RawMessage `json:"model"`
	At      []float64       `json:"spread_at"`
	Size    []float64       `json:"spread_size"`
	Scores  []float64       `json:"scores"`
	Weights []float64       `json:"weights"`
}

// scaleJSON is the scale that a ScaledEffect of a column has in a fold, computed from the training
// rows of the fold.
type scaleJSON struct {
	Centre    float64 `json:"centre"`
	Deviation float64 `json:"deviation"`
}

// intervalKeys are the keys of intervalsJSON, in the form that pipelineKeys returns.
var intervalKeys = map[string]map[string]bool{
	"intervals": {"units": true, "folds": true},
	"folds":     {"means": false, "scales": false, "model": true, "spread_at": true, "spread_size": true, "scores": true, "weights": true},
	"scales":    {"centre": true, "deviation": true},
}

// writtenIntervals returns the JSON form of the intervals, or nil if there are none.
func (p *Pipeline) writtenIntervals(e *Encoder) (*intervalsJSON, error) {
	if p.Intervals == nil {
		return nil, nil
	}
	if err := args.First(p.Intervals.Check(), p.checkIntervals(e)); err != nil {
		return nil, err
	}
	out := &intervalsJSON{Units: p.Intervals.Units}
	filled := func(v []float64) []float64 { return append([]float64{}, v...) } // read refuses null
	for _, f := range p.Intervals.Folds {
		model := *f.Model
		model.Prepared = nil
		text, err := json.Marshal(model)
		if err != nil {
			return nil, err
		}
		fold := foldJSON{Model: text, At: filled(f.Spread.At), Size: filled(f.Spread.Size), Scores: filled(f.Scores), Weights: filled(f.Weights)}
		for j, own := range f.Model.Prepared.(*Encoder).code {
			if e.columns[j].imputed() {
				fold.Means = append(fold.Means, own.Mean)
			}
			if e.columns[j].Effect.is(ScaledEffect) {
				fold.Scales = append(fold.Scales, scaleJSON{own.Centre, own.Deviation})
			}
		}
		out.Folds = append(out.Folds, fold)
	}
	return out, nil
}

// read returns the intervals of a pipeline whose encoder is e. If in is nil, it returns nil.
func (in *intervalsJSON) read(e *Encoder) (*interval.CVPlus, error) {
	if in == nil {
		return nil, nil
	}
	p := &interval.CVPlus{Units: in.Units}
	for k, f := range in.Folds {
		own, err := f.encoder(e)
		if err != nil {
			return nil, args.At(err, "fold %d", k)
		}
		model := new(cvgm.Model)
		if err := json.Unmarshal(f.Model, model); err != nil {
			return nil, args.At(err, "model of fold %d", k)
		}
		if _, features := own.Dims(); features != len(model.Mean) {
			return nil, args.Bad("model", qpdiff.ErrShape, "keep the parts of a pipeline together", "of fold %d has %d features, and the columns have %d", k, len(model.Mean), features)
		}
		model.Prepared = own
		p.Folds = append(p.Folds, interval.Fold{Model: model, Spread: interval.Spread{At: f.At, Size: f.Size}, Scores: f.Scores, Weights: f.Weights})
	}
	return p, p.Check()
}

// encoder returns a copy of e with the means and scales of the fold.
func (f *foldJSON) encoder(e *Encoder) (*Encoder, error) {
	own := *e
	own.code = slices.Clone(e.code)
	means, scales := 0, 0 // the number of columns so far that have a mean, and that have a scale
	for j := range e.columns {
		if e.columns[j].imputed() {
			if means++; means <= len(f.Means) {
				own.code[j].Mean = f.Means[means-1]
			}
		}
		if e.columns[j].Effect.is(ScaledEffect) {
			if scales++; scales <= len(f.Scales) {
				s := f.Scales[scales-1]
				if !(s.Deviation > 0) {
					return nil, args.Bad("deviation", qpdiff.ErrDomain, "give a positive number", "of column %q is %v", e.columns[j].Name, s.Deviation)
				}
				own.code[j].Centre, own.code[j].Deviation = s.Centre, s.Deviation
			}
		}
	}
	if len(f.Means) != means {
		return nil, args.Bad("means", qpdiff.ErrShape, "give one for each column that has one", "are %d instead of %d", len(f.Means), means)
	}
	if len(f.Scales) != scales {
		return nil, args.Bad("scales", qpdiff.ErrShape, "give one for each column with a scaled effect", "are %d instead of %d", len(f.Scales), scales)
	}
	return &own, nil
}
