package table

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/internal/hostile"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

func TestPipelinesPredictTheSameAfterJSON(t *testing.T) {
	number := patients(t)
	odd := CSV{Target: "y", Comma: ';', MissingTexts: []string{"-", "<&>"}, MissingIn: map[string]MissingRule{"a": MissingIsMean}, Categorical: []string{"b"}}
	named, err := odd.Read(strings.NewReader("a;b;\"q\"\";c\";y\n1;x;1;3\n-;2;1e-310;4\n.1;x;-0;6\n<&>;2;5;7\n3;ü>;5;7\n"))
	if err != nil {
		t.Fatal(err)
	}
	apples, err := readFruit(t, fruit).Binary("apple")
	if err != nil {
		t.Fatal(err)
	}
	net := func() learn.Learner { return new(linear.ElasticNet) }
	for name, c := range map[string]struct {
		p     *Pipeline
		table *Table
	}{
		"classes":   {pears(t), nil},
		"kernel":    {pipelineOf(t, apples, func() learn.Learner { return &kernel.SVM{Intercept: true} }, cvgm.SquaredHinge{}, cvgm.NoCentring, []float64{2, .3}), apples},
		"numbers":   {pipelineOf(t, number, net, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1}), number},
		"odd names": {pipelineOf(t, named, net, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1}), named},
	} {
		if c.table == nil {
			c.table = pearTable(t)
		}
		text, err := json.Marshal(c.p)
		if err != nil {
			t.Fatal(name, err)
		}
		var back Pipeline
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: written again as\n%s, not\n%s, error %v", name, again, text, err)
		}
		want, err1 := c.p.Decision(c.table)
		got, err2 := back.Decision(c.table)
		if err := errors.Join(err1, err2); err != nil || !hostile.SameBits(want, got) {
			t.Errorf("%s: %v, not %v, error %v", name, got, want, err)
		}
	}
}

// Another program, without the training data, reads a pipeline and predicts with the same bits.
func TestPipelineInAnotherProgram(t *testing.T) {
	const variable = "CVGM_TEST_PIPELINE"
	const rows = "weight,colour,spots\n99,red,1\n,?,\n127.3,green,2\n1,blue,9\n"
	predict := func(p *Pipeline) string {
		table, err := p.Read(strings.NewReader(rows))
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Decision(table)
		if err != nil {
			t.Fatal(err)
		}
		var bits []string
		for _, v := range d {
			bits = append(bits, decimal(v))
		}
		return "decisions " + strings.Join(bits, " ")
	}
	if path := os.Getenv(variable); path != "" { // the other program
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p Pipeline
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		t.Log(predict(&p))
		return
	}
	p := pears(t)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pipeline.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0], "-test.run=^TestPipelineInAnotherProgram$", "-test.v", "-test.timeout=5m")
	other.Env = append(os.Environ(), variable+"="+path)
	out, err := other.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this processor's programs run in an emulator, which starts no others")
	}
	if want := predict(p); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("the other program prints %s, error %v; want %s", out, err, want)
	}
}

func TestPipelineJSONRefusesWhatIsNoPipeline(t *testing.T) {
	good, err := json.Marshal(pears(t))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("%s lacks %s", good, old)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for name, c := range map[string][2]string{
		"truncated":             {string(good[:len(good)/2]), "not a pipeline"},
		"a model":               {edit("cvgm pipeline", "cvgm model 1"), `format is "cvgm model 1"`},
		"no format":             {edit(`"format":"cvgm pipeline",`, ``), "format is missing"},
		"no version":            {edit(`"version":1,`, ``), "version is missing"},
		"a newer version":       {edit(`"version":1,`, `"version":2,`), `version is 2, where this package reads version 1 of "cvgm pipeline"`},
		"a version in text":     {edit(`"version":1,`, `"version":"one",`), "not a pipeline"},
		"an unknown key":        {edit(`"version":1,`, `"version":1,"extra":1,`), `unknown key "extra"`},
		"an unknown key within": {edit(`"kind":"numeric",`, `"kind":"numeric","extra":1,`), `unknown key "extra"`},
		"a model's key":         {edit(`"intercept":`, `"interception":1,"intercept":`), `model has the unknown key "interception"`},
		"a key twice":           {edit(`"log_odds":true,`, `"log_odds":true,"log_odds":false,`), "twice"},
		"a key in capitals":     {edit(`"log_odds"`, `"Log_Odds"`), `unknown key "Log_Odds"`},
		"no columns":            {edit(`"columns":[`, `"columns":[],"old":[`), `unknown key "old"`},
		"null":                  {edit(`"log_odds":true`, `"log_odds":null`), "null"},
		"one class":             {edit(`"classes":["not pear","pear"]`, `"classes":["pear"]`), "none of"},
		"three classes":         {edit(`"classes":["not pear",`, `"classes":["not pear","apple",`), "Pipeline.Classes"},
		"equal classes":         {edit(`"classes":["not pear",`, `"classes":["pear",`), "class_of_others"},
		"other class":           {edit(`"class_of_others":"not pear"`, `"class_of_others":"plum"`), "plum"},
		"a long comma":          {edit(`"comma":","`, `"comma":",,"`), "comma"},
		"no comma":              {edit(`"comma":","`, `"comma":""`), "comma"},
		"a quote as comma":      {edit(`"comma":","`, `"comma":"\""`), "comma"},
		"unknown rule":          {edit(`"unknown_levels":"zero"`, `"unknown_levels":"guess"`), `use one of ["error" "zero"]`},
		"unknown kind":          {edit(`"kind":"categorical"`, `"kind":"ordinal"`), `kind is "ordinal"`},
		"missing rule":          {edit(`"missing":"mean"`, `"missing":"median"`), `missing is "median"`},
		"a column twice":        {edit(`"name":"spots"`, `"name":"weight"`), `"weight" twice`},
		"target as column":      {edit(`"name":"spots"`, `"name":"kind"`), `"kind" twice`},
		"no levels":             {edit(`"levels":["green","red","yellow"],`, ``), "levels are missing"},
		"levels out of order":   {edit(`["green","red"`, `["red","green"`), `"green" after "red"`},
		"level twice":           {edit(`["green","red"`, `["green","green"`), `"green" after "green"`},
		"levels of a number":    {edit(`"kind":"numeric",`, `"kind":"numeric","levels":["1"],`), "numeric column"},
		"missing level":         {edit(`"kind":"numeric",`, `"kind":"numeric","missing_level":true,`), "missing_level"},
		"one more level":        {edit(`"yellow"]`, `"yellow","z"]`), "Model.Prepared has 5 outputs where the model has 4"},
		"no mean":               {edit(`,"mean":88.25`, ``), `mean is missing for the numeric column "weight"`},
		"mean of levels":        {edit(`"levels":["green"`, `"mean":1,"levels":["green"`), "mean is given"},
		"a huge mean":           {edit(`"mean":88.25`, `"mean":1e999`), "not a pipeline"},
		"a broken model":        {edit(`"theta":[`, `"theta":[1,1,1,`), "model of the pipeline: Model.Theta"},
		"no model":              {edit(`"model":{`, `"model":{},"x":{`), "unknown key"},
		"a list":                {`[]`, "not a pipeline"},
	} {
		p := Pipeline{Target: "before"}
		err := p.UnmarshalJSON([]byte(c[0]))
		if err == nil || p.Target != "before" || !strings.Contains(err.Error(), c[1]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v lacks %q; pipeline %+v", name, err, c[1], p)
		}
	}
	var arg *qpdiff.ArgError
	if err := json.Unmarshal([]byte(edit(`"version":1,`, `"version":99,`)), new(Pipeline)); !errors.As(err, &arg) || !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("version 99: %v", err)
	}
}

func FuzzPipelineJSON(f *testing.F) {
	good, err := json.Marshal(pears(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good), "weight,colour,spots\n1,red,2\n")
	f.Add(strings.Replace(string(good), `"zero"`, `"error"`, 1), "weight,colour,spots,kind\n,,?,pear\n")
	f.Add(strings.Replace(string(good), `"comma":","`, `"comma":";"`, 1), "weight;colour;spots\n1;;2\n")
	f.Fuzz(func(t *testing.T, text, rows string) {
		var p, back Pipeline
		if err := p.UnmarshalJSON(casetest.Rechecked([]byte(text))); err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("read but not written: %v", err)
		}
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("written but not read: %v", err)
		}
		table, err := p.Read(strings.NewReader(rows))
		if err != nil {
			return
		}
		want, err := p.Decision(table)
		if err != nil {
			if !errors.Is(err, qpdiff.ErrNotFinite) {
				t.Errorf("rows that are read: %v", err)
			}
			return
		}
		got, err := back.Decision(table)
		if err != nil || !hostile.SameBits(got, want) || slices.ContainsFunc(want, math.IsNaN) {
			t.Errorf("decisions %v, after JSON %v, error %v", want, got, err)
		}
	})
}

func TestPipelineJSONIsChecked(t *testing.T) {
	text, err := json.Marshal(pears(t))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func() json.Unmarshaler{string(text): func() json.Unmarshaler { return new(Pipeline) }}
	casetest.CheckChangedJSON(t, kinds)
	casetest.CheckFormsOfJSON(t, kinds)
}
