package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/strictjson"
	"cvgm/qpdiff"
)

// pipelineJSON is the JSON form of a Pipeline.
type pipelineJSON struct {
	Format       string          `json:"format"`
	Version      int             `json:"version"`
	Target       string          `json:"target"`
	Classes      []string        `json:"classes,omitempty"`
	Rest         string          `json:"class_of_others,omitempty"`
	IgnoreCase   bool            `json:"ignore_case_of_classes,omitempty"`
	LogOdds      bool            `json:"log_odds"`
	TargetNumber *numberJSON     `json:"target_number,omitempty"`
	Comma        string          `json:"comma"`
	MissingTexts []string        `json:"missing_texts"`
	Unknown      string          `json:"unknown_levels"`
	Columns      []columnJSON    `json:"columns"`
	LogMean      bool            `json:"log_mean,omitempty"`
	Freedom      []float64       `json:"degrees_of_freedom,omitempty"`
	Model        json.RawMessage `json:"model"`
	Intervals    *intervalsJSON  `json:"intervals,omitempty"`
}

type columnJSON struct {
	Name         string      `json:"name"`
	Kind         string      `json:"kind"`
	Levels       []string    `json:"levels,omitempty"`
	Missing      string      `json:"missing"`
	MissingLevel bool        `json:"missing_level,omitempty"`
	Other        bool        `json:"other,omitempty"`
	IgnoreCase   bool        `json:"ignore_case,omitempty"`
	Number       *numberJSON `json:"number,omitempty"`
	Mean         *float64    `json:"mean,omitempty"`
	Date         *dateJSON   `json:"date,omitempty"`
	Effect       *effectJSON `json:"effect,omitempty"`
}

// effectJSON is the JSON form of an Effect.
type effectJSON struct {
	Kind      string   `json:"kind"`
	Term      string   `json:"term"`
	Bases     int      `json:"bases,omitempty"` // Bases, Low and High belong to a smooth effect
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
	Centre    *float64 `json:"centre,omitempty"` // Centre and Deviation belong to a scaled effect
	Deviation *float64 `json:"deviation,omitempty"`
	// Deviation, Length and Points belong to a kernel effect. Neighbouring columns form one kernel
	// if their kernel effects have the same term. Points holds the values of the column in the
	// inducing rows.
	Length *float64  `json:"length,omitempty"`
	Points []float64 `json:"points,omitempty"`
}

// dateJSON is the JSON form of a Date.
type dateJSON struct {
	Source string `json:"source"`
	Part   string `json:"part"`
	Layout string `json:"layout"`
	First  string `json:"first"`
}

// numberJSON is the JSON form of a Number.
type numberJSON struct {
	Decimal      string     `json:"decimal"`
	Unit         string     `json:"unit,omitempty"`
	Units        []unitJSON `json:"units,omitempty"`
	UnitRequired bool       `json:"unit_required,omitempty"`
}

type unitJSON struct {
	Name string  `json:"name"`
	Size float64 `json:"size"`
}

const (
	pipelineFormat  = "cvgm pipeline"
	pipelineVersion = 5
	caseVersion     = 4 // without kernel effects
	effectsVersion  = 3 // also without ignore_case, ignore_case_of_classes and unit_required
	plainVersion    = 2 // also without effects, intervals, log_mean and degrees_of_freedom
)

// pipelineKeys returns the keys that each JSON object of a pipeline has in the given version of the
// format. The value of a key is true if the key is required. The object "model" is checked when the
// model is read. Version 1 does not store number formats, dates and the level "other". Version 2
// has no effects and no intervals. Version 3 has no rules for the case of letters and for numbers
// without a unit. Version 4 has no kernel effects.
func pipelineKeys(version string) map[string]map[string]bool {
	keys := map[string]map[string]bool{
		"pipeline": {"format": true, "version": true, "target": true, "classes": false, "class_of_others": false, "log_odds": true,
			"comma": true, "missing_texts": true, "unknown_levels": true, "columns": true, "model": true, strictjson.ChecksumKey: false},
		"columns": {"name": true, "kind": true, "levels": false, "missing": true, "missing_level": false, "mean": false},
		"model":   nil,
	}
	if version == "1" {
		return keys
	}
	number := map[string]bool{"decimal": true, "unit": false, "units": false}
	if version == fmt.Sprint(caseVersion) || version == fmt.Sprint(pipelineVersion) {
		number["unit_required"], keys["columns"]["ignore_case"], keys["pipeline"]["ignore_case_of_classes"] = false, false, false
	}
	keys["pipeline"]["target_number"], keys["columns"]["number"] = false, false
	keys["columns"]["other"] = false
	keys["columns"]["date"], keys["date"] = false, map[string]bool{"source": true, "part": true, "layout": true, "first": true}
	keys["target_number"], keys["number"] = number, number
	keys["units"] = map[string]bool{"name": true, "size": true}
	if version != fmt.Sprint(plainVersion) {
		keys["columns"]["effect"], keys["pipeline"]["log_mean"], keys["pipeline"]["degrees_of_freedom"] = false, false, false
		keys["effect"] = map[string]bool{"kind": true, "term": true, "bases": false, "low": false, "high": false, "centre": false, "deviation": false}
		if version == fmt.Sprint(pipelineVersion) {
			keys["effect"]["length"], keys["effect"]["points"] = false, false
		}
		keys["pipeline"]["intervals"] = false
		maps.Copy(keys, intervalKeys)
	}
	return keys
}

// MarshalJSON writes the pipeline: the columns with their levels and means, the classes, the format
// of the CSV, the model, the intervals with their models if there are any, and a checksum. The
// levels begin with the baseline; programs that expect all levels in sorted order refuse other
// texts. The text has version 5 of the format if a column has a KernelEffect. Otherwise it has a version that
// earlier programs can read. This is version 4 if a column or the classes ignore the case of
// letters, or if a format of numbers has UnitRequired. It is version 3 if the pipeline has
// intervals, effects, Model.LogMean or Model.Freedom. Otherwise it is version 2. MarshalJSON
// returns the errors of [cvgm.Model.MarshalJSON], and an error if the parts of the pipeline do not
// fit together.
func (p Pipeline) MarshalJSON() ([]byte, error) {
	e, err := p.encoder()
	if err != nil {
		return nil, err
	}
	intervals, err := p.writtenIntervals(e)
	if err != nil {
		return nil, err
	}
	model := *p.Model
	model.Prepared = nil
	out := pipelineJSON{Format: pipelineFormat, Version: e.version(p.Model, intervals != nil), Intervals: intervals, Target: p.Target, Classes: p.Classes, Rest: e.restClass, IgnoreCase: e.ignoreCase, LogOdds: p.Model.LogOdds,
		TargetNumber: writtenNumber(e.number), Comma: string(e.reader.comma), MissingTexts: e.reader.missingTexts, Unknown: e.reader.unknown.String()}
	out.LogMean, out.Freedom = p.Model.LogMean, p.Model.Freedom
	for j, c := range e.columns {
		column := columnJSON{Name: c.Name, Kind: c.Kind.String(), Levels: c.Levels, Missing: c.Missing.String(), MissingLevel: c.MissingLevel, Other: c.Other, IgnoreCase: c.IgnoreCase, Number: writtenNumber(c.Number), Date: writtenDate(c.Date), Effect: e.writtenEffect(j)}
		if c.imputed() {
			column.Mean = &e.code[j].Mean
		}
		out.Columns = append(out.Columns, column)
	}
	if out.Model, err = json.Marshal(model); err != nil {
		return nil, err
	}
	return strictjson.WithChecksum(out)
}

// version returns the lowest version of the format that can represent the pipeline, so that earlier
// releases of this package can read the JSON where possible.
func (e *Encoder) version(m *cvgm.Model, intervals bool) int {
	required := func(n *Number) bool { return n != nil && n.UnitRequired }
	switch {
	case slices.ContainsFunc(e.columns, func(c Column) bool { return c.Effect.is(KernelEffect) }):
		return pipelineVersion
	case e.ignoreCase || required(e.number) || slices.ContainsFunc(e.columns, func(c Column) bool { return c.IgnoreCase || required(c.Number) }):
		return caseVersion
	case m.LogMean || m.Freedom != nil || intervals || slices.ContainsFunc(e.columns, func(c Column) bool { return c.Effect != nil }):
		return effectsVersion
	}
	return plainVersion
}

// UnmarshalJSON reads text that MarshalJSON wrote in versions 1 to 5 of the format. Later releases
// of this package will also read all five. Version 1 does not store formats of numbers and dates.
// On amd64 and arm64, the decisions, predictions and intervals have the same bits as before
// writing, except that a kernel machine in version 1 may differ by rounding. Other programs may
// change the text: its spaces, its escapes, the order of its keys, and the forms in which it writes
// the same float64s.
//
// If the text is not a pipeline, UnmarshalJSON returns an error and does not change p. The error is
// a *qpdiff.ArgError if the format or version is unknown, or if the parts do not fit together. It
// is also an ArgError if a part is missing, unknown, repeated or null, or if the checksum is
// missing or wrong.
func (p *Pipeline) UnmarshalJSON(text []byte) error {
	var header struct {
		Format  *string      `json:"format"`
		Version *json.Number `json:"version"`
	}
	const remedy = "read the text of a pipeline that MarshalJSON wrote"
	if err := json.Unmarshal(text, &header); err != nil {
		return fmt.Errorf("cvgm: not a pipeline (%w): %s", err, remedy)
	}
	switch {
	case header.Format == nil:
		return args.Bad("format", qpdiff.ErrDomain, remedy, "is missing instead of %q", pipelineFormat)
	case *header.Format != pipelineFormat:
		return args.Bad("format", qpdiff.ErrDomain, remedy, "is %q instead of %q", *header.Format, pipelineFormat)
	case header.Version == nil:
		return args.Bad("version", qpdiff.ErrDomain, remedy, "is missing instead of %d", pipelineVersion)
	case !slices.Contains([]string{"1", fmt.Sprint(plainVersion), fmt.Sprint(effectsVersion), fmt.Sprint(caseVersion), fmt.Sprint(pipelineVersion)}, header.Version.String()):
		return args.Bad("version", qpdiff.ErrDomain, "read it with the version of this package that wrote it, or a later one",
			"is %v, where this package reads versions 1 to %d of %q", *header.Version, pipelineVersion, pipelineFormat)
	}
	var in pipelineJSON
	if err := strictjson.Read(text, pipelineKeys(header.Version.String()), "pipeline", &in); err != nil {
		return err
	}
	e, err := in.encoder()
	if err != nil {
		return err
	}
	read := Pipeline{Model: new(cvgm.Model), Target: in.Target, Classes: in.Classes}
	if err := json.Unmarshal(in.Model, read.Model); err != nil {
		return args.At(err, "model of the pipeline")
	}
	read.Model.Prepared, read.Model.LogOdds, read.Model.LogMean, read.Model.Freedom = e, in.LogOdds, in.LogMean, in.Freedom
	if n := len(read.Model.Theta); in.Freedom != nil && len(in.Freedom) != n {
		return args.Bad("degrees_of_freedom", qpdiff.ErrShape, "keep the parts of a pipeline together", "have %d entries where theta has %d", len(in.Freedom), n)
	}
	if err := e.joinKernels(read.Model); err != nil {
		return err
	}
	if _, err := read.encoder(); err != nil {
		return err
	}
	if in.Intervals != nil {
		if read.Intervals, err = in.Intervals.read(e); err != nil {
			return args.At(err, "intervals")
		}
		if err := read.checkIntervals(e); err != nil {
			return err
		}
	}
	if err := strictjson.Verify(text); err != nil {
		return err
	}
	*p = read
	return nil
}

// encoder returns the encoder of the pipeline in JSON form. The encoder has no joint features yet:
// see joinKernels.
func (in *pipelineJSON) encoder() (*Encoder, error) {
	reader := &csvReader{missingTexts: in.MissingTexts}
	comma, size := utf8.DecodeRuneInString(in.Comma)
	if size != len(in.Comma) || !validComma(comma) {
		return nil, args.Bad("comma", qpdiff.ErrDomain, "give one character", "is %q", in.Comma)
	}
	reader.comma = comma
	var err error
	if reader.unknown, err = valueOf[UnknownRule]("unknown_levels", unknownNames[:], in.Unknown); err != nil {
		return nil, err
	}
	if err := in.checkClasses(); err != nil {
		return nil, err
	}
	e := &Encoder{target: in.Target, classes: in.Classes, restClass: in.Rest, ignoreCase: in.IgnoreCase, reader: reader}
	if e.number, err = in.TargetNumber.read(); err != nil {
		return nil, args.At(err, "target_number")
	}
	if e.number != nil && in.Classes != nil {
		return nil, args.Bad("target_number", qpdiff.ErrDomain, "leave it out", "is given for a target of the classes %q", firstOf(in.Classes))
	}
	seen := map[string]bool{in.Target: true}
	for _, c := range in.Columns {
		column := Column{Name: c.Name, Levels: c.Levels, MissingLevel: c.MissingLevel, Other: c.Other, IgnoreCase: c.IgnoreCase}
		if seen[c.Name] {
			return nil, args.Bad("columns", qpdiff.ErrDomain, "name each column and the target once", "has the name %q twice", c.Name)
		}
		seen[c.Name] = true
		if column.Kind, err = valueOf[Kind]("kind", kindNames[:], c.Kind); err != nil {
			return nil, err
		}
		if column.Missing, err = valueOf[MissingRule]("missing", missingNames[:], c.Missing); err != nil {
			return nil, err
		}
		if column.Number, err = c.Number.read(); err != nil {
			return nil, args.At(err, "number of column %q", c.Name)
		}
		if column.Date, err = c.Date.read(); err != nil {
			return nil, args.At(err, "date of column %q", c.Name)
		}
		if err := c.check(&column); err != nil {
			return nil, err
		}
		var centre, deviation float64
		if column.Effect, centre, deviation, err = c.Effect.read(&column); err != nil {
			return nil, err
		}
		for k, level := range c.Levels {
			if k > 1 && level <= c.Levels[k-1] || k > 0 && level == c.Levels[0] {
				return nil, args.Bad("levels", qpdiff.ErrDomain, "give each level once: first the baseline, then the others in sorted order", "of column %q has %q after %q", c.Name, level, c.Levels[k-1])
			}
		}
		code := reader.portable(&column)
		if c.Mean != nil {
			code.Mean = *c.Mean
		}
		code.Centre, code.Deviation = centre, deviation
		e.columns, e.code = append(e.columns, column), append(e.code, code)
	}
	return e, nil
}

// checkClasses returns an error if ignore_case_of_classes or class_of_others does not fit the
// classes.
func (in *pipelineJSON) checkClasses() error {
	const key = "ignore_case_of_classes"
	return args.First(
		args.BadIf(in.IgnoreCase && in.Classes == nil, key, qpdiff.ErrDomain, "leave it out", "is true for a target without classes"),
		args.BadIf(in.IgnoreCase && foldsTwice(in.Classes), key, qpdiff.ErrDomain, "leave it out, or rename a class", "is true for the classes %q, which differ by the case of letters alone", firstOf(in.Classes)),
		args.BadIf(in.Rest != "" && !slices.Contains(in.Classes, in.Rest), "class_of_others", qpdiff.ErrDomain, "name one of the classes, or leave it out",
			"is %q, which is none of %q", in.Rest, firstOf(in.Classes)))
}

// check returns an error if a part of c does not fit the kind or the missing rule of the column.
func (c *columnJSON) check(column *Column) error {
	numeric, given := column.Kind == Numeric, "given"
	if c.Mean == nil {
		given = "missing"
	}
	switch {
	case numeric && len(c.Levels) > 0:
		return args.Bad("levels", qpdiff.ErrDomain, "leave them out", "belong to the numeric column %q", c.Name)
	case c.Other && numeric:
		return args.Bad("other", qpdiff.ErrDomain, "leave it out", "is true for the numeric column %q", c.Name)
	case column.Date != nil && (column.Date.Part.numeric() != numeric || c.Number != nil):
		return args.Bad("date", qpdiff.ErrDomain, "leave it out", "with part %q belongs to the %s column %q", c.Date.Part, c.Kind, c.Name)
	case c.IgnoreCase && (numeric || column.Date != nil):
		return args.Bad("ignore_case", qpdiff.ErrDomain, "leave it out", "is true for column %q, which has no texts as its levels", c.Name)
	case c.IgnoreCase && foldsTwice(c.Levels):
		return args.Bad("ignore_case", qpdiff.ErrDomain, "leave it out, or join these levels", "is true for column %q, which has levels that differ by the case of letters alone", c.Name)
	case !numeric && c.Number != nil:
		return args.Bad("number", qpdiff.ErrDomain, "leave it out", "belongs to the categorical column %q", c.Name)
	case !numeric && len(c.Levels) == 0:
		return args.Bad("levels", qpdiff.ErrEmpty, "give at least one", "are missing for the categorical column %q", c.Name)
	case c.MissingLevel && (numeric || column.Missing != MissingIsMean):
		return args.Bad("missing_level", qpdiff.ErrDomain, "leave it out", "is true for the %s column %q with missing %q", c.Kind, c.Name, c.Missing)
	case (c.Mean != nil) != column.imputed():
		return args.Bad("mean", qpdiff.ErrShape, `give it for numeric columns with missing "mean" alone`, "is %s for the %s column %q with missing %q", given, c.Kind, c.Name, c.Missing)
	}
	return nil
}

// valueOf returns the constant whose name is in the list names.
func valueOf[T ~int](key string, names []string, name string) (T, error) {
	at := slices.Index(names, name)
	if at < 0 {
		return T(at), args.Bad(key, qpdiff.ErrDomain, fmt.Sprintf("use one of %q", names), "is %q", name)
	}
	return T(at), nil
}

// writtenNumber returns the JSON form of a format. It returns nil for nil.
func writtenNumber(n *Number) *numberJSON {
	if n == nil {
		return nil
	}
	out := &numberJSON{Decimal: string(n.decimal()), Unit: n.Unit, UnitRequired: n.UnitRequired}
	for _, u := range slices.Sorted(maps.Keys(n.Units)) {
		out.Units = append(out.Units, unitJSON{u, n.Units[u]})
	}
	return out
}

// read returns the format. It returns nil for nil.
func (in *numberJSON) read() (*Number, error) {
	if in == nil {
		return nil, nil
	}
	decimal, size := utf8.DecodeRuneInString(in.Decimal)
	if size == 0 || size != len(in.Decimal) {
		return nil, args.Bad("decimal", qpdiff.ErrDomain, `use "." or ","`, "is %q", in.Decimal)
	}
	n := &Number{Decimal: decimal, Unit: in.Unit, UnitRequired: in.UnitRequired}
	for _, u := range in.Units {
		if _, twice := n.Units[u.Name]; twice {
			return nil, args.Bad("units", qpdiff.ErrDomain, "name each unit once", "has the name %q twice", u.Name)
		}
		if n.Units == nil {
			n.Units = map[string]float64{}
		}
		n.Units[u.Name] = u.Size
	}
	return n, n.check()
}

// writtenEffect returns the JSON form of the effect of column j, or nil if the column has none.
func (e *Encoder) writtenEffect(j int) *effectJSON {
	f := e.columns[j].Effect
	if f == nil {
		return nil
	}
	out := &effectJSON{Kind: f.Kind.String(), Term: f.Term}
	switch f.Kind {
	case SmoothEffect:
		out.Bases, out.Low, out.High = f.Bases, &f.Low, &f.High
	case ScaledEffect:
		out.Centre, out.Deviation = &e.code[j].Centre, &e.code[j].Deviation
	case KernelEffect:
		out.Deviation, out.Length, out.Points = &f.kernel.deviation, &f.Length, f.kernel.points
	}
	return out
}

// read returns the effect of column c, with its centre and deviation. If the JSON has no effect,
// all results are zero.
func (in *effectJSON) read(c *Column) (f *Effect, centre, deviation float64, err error) {
	if in == nil {
		return nil, 0, 0, nil
	}
	kind, err := valueOf[EffectKind]("effect", effectNames[:], in.Kind)
	if err != nil {
		return nil, 0, 0, err
	}
	f = &Effect{Column: c.Name, Kind: kind, Term: in.Term, Bases: in.Bases}
	smooth, scaled, kernel := kind == SmoothEffect, kind == ScaledEffect, kind == KernelEffect
	if smooth != (in.Low != nil) || smooth != (in.High != nil) || scaled != (in.Centre != nil) || (scaled || kernel) != (in.Deviation != nil) ||
		kernel != (in.Length != nil) || kernel != (in.Points != nil) || kernel && in.Bases != 0 {
		return nil, 0, 0, args.Bad("effect", qpdiff.ErrShape, "give low and high for a smooth effect alone, centre and deviation for a scaled one, and deviation, length and points for a kernel",
			"of column %q, %v, has others", c.Name, kind)
	}
	if in.Deviation != nil && !(*in.Deviation > 0) {
		return nil, 0, 0, args.Bad("deviation", qpdiff.ErrDomain, "give a positive number", "of column %q is %v", c.Name, *in.Deviation)
	}
	if smooth {
		f.Low, f.High = *in.Low, *in.High
	}
	if scaled {
		centre, deviation = *in.Centre, *in.Deviation
	}
	if kernel {
		if f.Bases, f.Length = len(in.Points), *in.Length; !(f.Length > 0) {
			return nil, 0, 0, args.Bad("length", qpdiff.ErrDomain, "give a positive number", "of column %q is %v", c.Name, f.Length)
		}
		f.kernel = &kernelPart{deviation: *in.Deviation, points: in.Points}
	}
	if err := f.check(c); err != nil {
		return nil, 0, 0, args.At(err, "effect of column %q", c.Name)
	}
	return f, centre, deviation, nil
}

// dateTime is the layout of dateJSON.First.
const dateTime = "2006-01-02T15:04:05.999999999"

// writtenDate returns the JSON form of a date, or nil for nil.
func writtenDate(d *Date) *dateJSON {
	if d == nil {
		return nil
	}
	return &dateJSON{Source: d.Source, Part: d.Part.String(), Layout: d.Layout, First: d.First.Format(dateTime)}
}

// read returns the date, or nil for nil.
func (in *dateJSON) read() (*Date, error) {
	if in == nil {
		return nil, nil
	}
	d := &Date{Source: in.Source, Layout: in.Layout}
	var err error
	if d.Part, err = valueOf[DatePart]("part", partNames[:], in.Part); err != nil {
		return nil, err
	}
	var ok bool
	if d.First, ok = portable.ParseDate(dateTime, in.First); !ok {
		return nil, args.Bad("first", qpdiff.ErrDomain, fmt.Sprintf("use the format %q", dateTime), "is %q", in.First)
	}
	return d, checkLayout(d.Layout)
}
