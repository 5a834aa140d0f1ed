package notebook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cvgm/cvgm/table"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A model that my_data has written predicts the rows of a CSV.
func Example_pipeline() {
	before, err := os.Getwd()
	check(err)
	check(os.Chdir(filepath.Join("..", "..", "figures", "out", "my_data")))
	defer func() { check(os.Chdir(before)) }()

	text, err := os.ReadFile("my_data_pipeline.json")
	check(err)
	var p table.Pipeline
	check(json.Unmarshal(text, &p))
	file, err := os.Open("houses.csv") // the rows to predict; the target's column may be missing
	check(err)
	rows, err := p.Read(file)
	check(err)
	predictions, err := p.Predict(rows) // numbers; for classes ±1, whose names p.Class(rows) returns
	check(err)

	fmt.Printf("%d houses; the first costs %.0f and is predicted at %.0f\n", len(predictions), rows.Y[0], predictions[0])
	// Output:
	// 80 houses; the first costs 509 and is predicted at 446
}

// The notebook and the example contain the same program.
func TestProgramOfMyData(t *testing.T) {
	source, err := os.ReadFile("my_data_test.go")
	if err != nil {
		t.Fatal(err)
	}
	notebook, err := os.ReadFile(filepath.Join("..", "my_data.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	var content struct{ Cells []struct{ Source []string } }
	if err := json.Unmarshal(notebook, &content); err != nil {
		t.Fatal(err)
	}
	last := strings.Join(content.Cells[len(content.Cells)-1].Source, "")
	_, program, _ := strings.Cut(last, "```go\n")
	program, _, found := strings.Cut(program, "\n```")
	if lines := strings.Count(program, "\n") + 1; !found || lines > 10 || lines < 5 {
		t.Fatalf("%d lines:\n%s", lines, program)
	}
	if !strings.Contains(string(source), "\n\n\t"+strings.ReplaceAll(program, "\n", "\n\t")+"\n\n") {
		t.Errorf("the example has not these lines:\n%s", program)
	}
}
