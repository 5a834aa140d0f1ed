package table

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
)

func TestPipelinesPredictTheSameAfterJSON(t *testing.T) {
	number := patientTable(t)
	odd := CSV{Target: "y", Comma: ';', MissingTexts: []string{"-", "<&>"}, MissingIn: map[string]MissingRule{"a": MissingIsMean}, Categorical: []string{"b"}}
	named := casetest.Must(odd.Read(strings.NewReader("a;b;\"q\"\";c\";y\n1;x;1;3\n-;2;1e-310;4\n.1;x;-0;6\n<&>;2;5;7\n3;ü>;5;7\n")))(t)
	apples := casetest.Must(readFruit(t, fruit).Binary("apple"))(t)
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

// A pipeline returns the same bits in another program, which does not have the training data.
func TestPipelineInAnotherProgram(t *testing.T) {
	const variable = "CVGM_TEST_PIPELINE"
	const rows = "weight,colour,spots\n99,red,1\n,?,\n127.3,green,2\n1,blue,9\n"
	predict := func(p *Pipeline) string {
		table := casetest.Must(p.Read(strings.NewReader(rows)))(t)
		d := casetest.Must(p.Decision(table))(t)
		var bits []string
		for _, v := range d {
			bits = append(bits, decimal(v))
		}
		return "decisions " + strings.Join(bits, " ")
	}
	if path := os.Getenv(variable); path != "" { // this process is the other program
		text := casetest.Must(os.ReadFile(path))(t)
		var p Pipeline
		casetest.OK(t, json.Unmarshal(text, &p))
		t.Log(predict(&p))
		return
	}
	p := pears(t)
	text := casetest.Must(json.Marshal(p))(t)
	path := filepath.Join(t.TempDir(), "pipeline.json")
	casetest.OK(t, os.WriteFile(path, text, 0o644))
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
	good := casetest.Must(json.Marshal(pears(t)))(t)
	edit := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("%s lacks %s", good, old)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	four := func(old, new string) string { return strings.Replace(edit(old, new), `"version":2`, `"version":4`, 1) }
	classes := regexp.MustCompile(`"classes":\[[^\]]*\],`).FindString(string(good))
	for name, c := range map[string][2]string{
		"truncated":             {string(good[:len(good)/2]), "not a pipeline"},
		"a model":               {edit("cvgm pipeline", "cvgm model 1"), `format is "cvgm model 1"`},
		"no format":             {edit(`"format":"cvgm pipeline",`, ``), "format is missing"},
		"no version":            {edit(`"version":2,`, ``), "version is missing"},
		"a newer version":       {edit(`"version":2,`, `"version":6,`), `version is 6, where this package reads versions 1 to 5 of "cvgm pipeline"`},
		"intervals of another":  {edit(`"log_odds"`, `"intervals":{"units":1,"folds":[]},"log_odds"`), `unknown key "intervals"`},
		"a version in text":     {edit(`"version":2,`, `"version":"one",`), "not a pipeline"},
		"an unknown key":        {edit(`"version":2,`, `"version":2,"extra":1,`), `unknown key "extra"`},
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
		"no levels":             {edit(`"levels":["red","green","yellow"],`, ``), "levels are missing"},
		"levels out of order":   {edit(`"green","yellow"`, `"yellow","green"`), `"green" after "yellow"`},
		"baseline twice":        {edit(`"green","yellow"`, `"green","red"`), `"red" after "green"`},
		"level twice":           {edit(`"green","yellow"`, `"green","green"`), `"green" after "green"`},
		"levels of a number":    {edit(`"kind":"numeric",`, `"kind":"numeric","levels":["1"],`), "numeric column"},
		"missing level":         {edit(`"kind":"numeric",`, `"kind":"numeric","missing_level":true,`), "missing_level"},
		"one more level":        {edit(`"yellow"]`, `"yellow","z"]`), "Model.Prepared has 5 outputs where the model has 4"},
		"no mean":               {edit(`,"mean":88.25`, ``), `mean is missing for the numeric column "weight"`},
		"mean of levels":        {edit(`"levels":["red"`, `"mean":1,"levels":["red"`), "mean is given"},
		"a huge mean":           {edit(`"mean":88.25`, `"mean":1e999`), "not a pipeline"},
		"a broken model":        {edit(`"theta":[`, `"theta":[1,1,1,`), "model of the pipeline: Model.Theta"},
		"no model":              {edit(`"model":{`, `"model":{},"x":{`), "unknown key"},
		"formats of version 1":  {strings.Replace(edit(`"kind":"numeric",`, `"kind":"numeric","number":{"decimal":"."},`), `"version":2`, `"version":1`, 1), `unknown key "number"`},
		"a format's decimal":    {edit(`"kind":"numeric",`, `"kind":"numeric","number":{"decimal":";"},`), "Number.Decimal is ';'"},
		"a long decimal":        {edit(`"kind":"numeric",`, `"kind":"numeric","number":{"decimal":".."},`), `decimal is ".."`},
		"a unit":                {edit(`"kind":"numeric",`, `"kind":"numeric","number":{"decimal":".","unit":"1"},`), `number of column "weight": Number.Unit is "1"`},
		"a unit's size":         {edit(`"kind":"numeric",`, `"kind":"numeric","number":{"decimal":".","units":[{"name":"g","size":-1}]},`), `size -1 for "g"`},
		"a unit twice":          {edit(`"kind":"numeric",`, `"kind":"numeric","number":{"decimal":".","units":[{"name":"g","size":1},{"name":"g","size":1}]},`), `"g" twice`},
		"format of levels":      {edit(`"kind":"categorical",`, `"kind":"categorical","number":{"decimal":"."},`), "categorical column"},
		"format of classes":     {edit(`"log_odds"`, `"target_number":{"decimal":"."},"log_odds"`), "target_number is given for a target of the classes"},
		"case of numbers":       {four(`"kind":"numeric",`, `"kind":"numeric","ignore_case":true,`), `ignore_case is true for column "weight", which has no texts`},
		"case of levels":        {four(`"levels":["red"`, `"ignore_case":true,"levels":["red","GREEN"`), `levels that differ by the case of letters alone`},
		"case without classes":  {strings.Replace(four(`"log_odds"`, `"ignore_case_of_classes":true,"log_odds"`), classes, "", 1), `ignore_case_of_classes is true for a target without classes`},
		"case of classes":       {strings.Replace(four(`"log_odds"`, `"ignore_case_of_classes":true,"log_odds"`), classes, `"classes":["PEAR","pear"],`, 1), `classes ["PEAR" "pear"], which differ by the case of letters alone`},
		"no unit":               {four(`"kind":"numeric",`, `"kind":"numeric","number":{"decimal":".","unit_required":true},`), "Number.UnitRequired is set without Unit"},
		"case in version 2":     {edit(`"kind":"categorical",`, `"kind":"categorical","ignore_case":true,`), `"ignore_case"`},
		"a list":                {`[]`, "not a pipeline"},
	} {
		p := Pipeline{Target: "before"}
		err := p.UnmarshalJSON([]byte(c[0]))
		if err == nil || p.Target != "before" || !strings.Contains(err.Error(), c[1]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v lacks %q; pipeline %+v", name, err, c[1], p)
		}
	}
	var arg *qpdiff.ArgError
	if err := json.Unmarshal([]byte(edit(`"version":2,`, `"version":99,`)), new(Pipeline)); !errors.As(err, &arg) || !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("version 99: %v", err)
	}
}

func TestPipelineJSONIsChecked(t *testing.T) {
	serial.Test(t)
	text := casetest.Must(json.Marshal(pears(t)))(t)
	kinds := map[string]func() json.Unmarshaler{string(text): func() json.Unmarshaler { return new(Pipeline) }}
	casetest.CheckChangedJSON(t, kinds)
	casetest.CheckFormsOfJSON(t, kinds)
}
