package cvgm_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// tableText returns a CSV with the columns c0, c1, … and y, whose entries are results of the
// function field.
func tableText(in *hostile.Input, cols, rows int, comma rune, field func(col, row int) string) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	w.Comma = comma
	for i := range rows + 1 {
		record := make([]string, cols+1)
		for j := range record {
			switch {
			case i > 0:
				record[j] = field(j, i)
			case j < cols:
				record[j] = fmt.Sprint("c", j)
			default:
				record[j] = "y"
			}
		}
		if err := w.Write(record); err != nil {
			panic(err)
		}
	}
	w.Flush()
	return text.String()
}

// drawEffects draws an effect for each column of a table. Most numeric columns share one of two
// kernels.
func drawEffects(in *hostile.Input, tbl *table.Table) (effects []table.Effect) {
	for _, c := range tbl.Columns {
		e := table.Effect{Column: c.Name, Kind: table.LevelsEffect, Term: fmt.Sprint("term ", in.IntN(2))}
		if c.Kind == table.Numeric {
			e.Kind = []table.EffectKind{table.KernelEffect, table.KernelEffect, table.KernelEffect, table.SmoothEffect, table.ScaledEffect}[in.IntN(5)]
		}
		effects = append(effects, e)
	}
	return effects
}

// hostileTables fits models to tables of all kinds of columns and predicts from other texts, also
// after a round trip through JSON.
func hostileTables(in *hostile.Input) {
	p := in.Profile()
	cols, rows := 1+in.IntN(4), 3+in.IntN(10)
	kinds := make([]int, cols+1)
	for j := range kinds {
		kinds[j] = in.IntN(12)
	}
	levels := []string{"u", "v", "w ", "ä;\"", "1", "<b>"}
	field := func(j, i int) string {
		if in.IntN(60) == 0 {
			return []string{"", "NA", "?", "inf", "1,5", "0x1", "z", " ", "\xff", "1e999"}[in.IntN(10)]
		}
		switch kinds[j] {
		case 0, 1, 3, 4, 5:
			return levels[in.IntN(2+in.IntN(len(levels)-1))]
		case 2:
			return fmt.Sprint("id", i)
		}
		if in.IntN(6) == 0 {
			return ""
		}
		return fmt.Sprint(in.Value(p))
	}
	rules := []table.MissingRule{table.MissingIsMean, table.MissingIsMean, table.MissingDropsRow, table.MissingIsError}
	c := table.CSV{Target: "y", Missing: rules[in.IntN(4)], Unknown: table.UnknownRule(in.IntN(2)), Comma: []rune{0, ';', '\t', ','}[in.IntN(4)]}
	c.MissingIn = map[string]table.MissingRule{"y": table.MissingDropsRow}
	if in.IntN(8) == 0 {
		c.Ignore = []string{"c0"}
	}
	if in.IntN(8) == 0 {
		c.Group = "c1"
	}
	if in.IntN(8) == 0 {
		c.Categorical = []string{"c2"}
	}
	if in.IntN(8) == 0 {
		c.Positive = levels[in.IntN(2)]
	}
	comma := c.Comma
	if comma == 0 {
		comma = ','
	}
	text := tableText(in, cols, rows, comma, field)
	tbl, err := c.Read(strings.NewReader(text))
	if in.Replaying() {
		fmt.Printf("%+v reads %q: %+v, %v\n", c, text, tbl, err)
	}
	if !answersCSV(in, "CSV.Read", err) {
		return
	}
	if len(tbl.Classes) > 2 {
		if tbl, err = tbl.Binary(tbl.Classes[in.IntN(len(tbl.Classes))]); !in.Answer("Table.Binary", err) {
			return
		}
	}
	if in.IntN(3) == 0 {
		if tbl, err = tbl.WithEffects(drawEffects(in, tbl)...); !in.Answer("Table.WithEffects", err) {
			return
		}
	}
	d, encoder, err := tbl.Data()
	if !in.Answer("Table.Data", err) {
		return
	}
	config := cvgm.Config{Data: d, Prepare: encoder, Splits: drawSplits(in, len(d.Y)), Workers: 1, Generalised: true, Standardise: in.IntN(3) > 0,
		Loss: cvgm.SquaredError{}, Centring: cvgm.MeanCentring, Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	alpha := []float64{.01, .1}
	if tbl.Classes != nil {
		config.Loss, config.Centring = cvgm.LogisticLoss{}, cvgm.NoCentring
		config.Learner, alpha = func() learn.Learner { return new(linear.Logistic) }, []float64{.1}
	}
	cv, err := cvgm.New(config)
	if !in.Answer("New for a table", err) {
		return
	}
	loss, err := cv.Eval(nil, alpha)
	if in.Answer("Eval for a table", err) && !hostile.Finite([]float64{loss}) {
		in.Failf("Eval: not finite", "%v", loss)
	}
	model, err := cv.Final(alpha)
	if !in.Answer("Final for a table", err) {
		return
	}
	pipeline, err := table.NewPipeline(model)
	if !in.Answer("Pipeline", err) {
		return
	}
	decisions, err := pipeline.Decision(tbl)
	if !in.Answer("Decision", err) {
		return
	}
	if !hostile.Finite(decisions) {
		in.Failf("Decision: not finite", "%v", decisions)
	}
	written, err := json.Marshal(pipeline)
	if !in.Answer("Pipeline.MarshalJSON", err) {
		return
	}
	var back table.Pipeline
	if err := json.Unmarshal(written, &back); err != nil {
		in.Failf("Pipeline.MarshalJSON: writes what UnmarshalJSON refuses", "%s: %v", written, err)
		return
	}
	same, err := back.Decision(tbl)
	if err != nil || !hostile.SameBits(same, decisions) {
		in.Failf("Pipeline JSON: other decisions", "%v, not %v, error %v", same, decisions, err)
	}
	other := tableText(in, cols, 1+in.IntN(3), comma, field)
	predictText(in, &back, other)
	written = damageText(in, written)
	if in.IntN(2) == 0 {
		written = cvgm.Rechecked_(written)
	}
	if err := json.Unmarshal(written, &back); in.Answer("Pipeline.UnmarshalJSON", err, hostile.ErrDocumented) {
		if again, err := json.Marshal(back); err != nil {
			in.Failf("Pipeline.UnmarshalJSON: reads what MarshalJSON refuses", "%s: %v", again, err)
		}
		predictText(in, &back, other)
	}
}

// predictText predicts all that a pipeline can for the rows of a text.
func predictText(in *hostile.Input, p *table.Pipeline, text string) {
	tbl, err := p.Read(strings.NewReader(text))
	if in.Replaying() {
		fmt.Printf("Pipeline.Read %q: %+v, %v\n", text, tbl, err)
	}
	if !answersCSV(in, "Pipeline.Read", err) {
		return
	}
	d, err := p.Decision(tbl)
	if !in.Answer("Decision after Read", err) {
		return
	}
	y, err := p.Predict(tbl)
	if err != nil || !hostile.Finite(d, y) {
		in.Failf("Predict: refuses what Decision takes, or not finite", "%v, %v, %v", d, y, err)
	}
	probabilities, err := p.Probability(tbl)
	in.Answer("Probability", err)
	for _, v := range probabilities {
		if !(v >= 0 && v <= 1) {
			in.Failf("Probability: outside [0, 1]", "%v", v)
		}
	}
	classes, err := p.Class(tbl)
	if in.Answer("Class", err); len(p.Classes) > 0 && len(classes) != len(d) {
		in.Failf("Class: not one for each row", "%q for %v", classes, d)
	}
}

// answersCSV is Answer for errors of texts, which may come from package encoding/csv.
func answersCSV(in *hostile.Input, call string, err error) bool {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return in.Answer(call, err, hostile.ErrDocumented)
	}
	if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
		in.Failf("an error of several lines", "%q", err)
	}
	return in.Answer(call, err, io.EOF)
}
