package qpdiff

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileOrder lists the files of the package in the order in which they build on each
// other: a file uses its own names and those of files before it. Files of one line
// belong together.
var fileOrder = strings.Fields(`
	doc linalg errors data complementarity parallel state
	qp_problem kkt_system qp_workingset qp_residual qp_load qp_scale qp_certificate qp_solve
	kkt_singular kkt_regular
	learner_state row_set
	penalty_groups elastic_net_qp elastic_net_linesearch elastic_net_solver penalised_quadratic penalised_diff elastic_net_fit elastic_net_diff
	huber_newton huber_fit huber_diff
	logistic_kernels logistic_newton logistic_fit logistic_diff
	sparse_logistic_fit sparse_logistic_newton sparse_logistic_diff
	margin_problem margin_face margin_solver margin_dual margin_linesearch margin_primal margin_weak margin_fit margin_diff
	kernel kernel_machine kernel_model
	kernel_svm_factor kernel_svm_dual kernel_svm_fit kernel_svm_diff kernel_svm_smo kernel_svm_solver kernel_svm_weak
	kernel_ridge_fit kernel_ridge_diff
	smooth_objective smooth_newton smooth_diff unrolled_diff
	workspace learner
	qp qp_weak qp_adjoint qp_tangent qp_onesided qp_batch program
	elastic_net huber logistic sparse_logistic margin_onesided svm learned_loss kernel_svm kernel_ridge smooth unrolled
`)

// TestFileOrder fails on a file that is not listed, and on each use of a name that a
// later file declares: a function, a type, a constant, a method or a field.
func TestFileOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks gonum from its sources")
	}
	fset := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("qpdiff", fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	name := func(p token.Pos) string {
		return strings.TrimSuffix(filepath.Base(fset.Position(p).Filename), ".go")
	}
	for _, f := range files {
		if !slices.Contains(fileOrder, name(f.Pos())) {
			t.Errorf("%s.go is not in fileOrder", name(f.Pos()))
		}
	}
	if len(fileOrder) != len(files) {
		t.Errorf("fileOrder lists %d files, the package has %d", len(fileOrder), len(files))
	}
	uses := 0
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		from, to := name(id.Pos()), name(object.Pos())
		if from == to {
			continue
		}
		uses++
		if slices.Index(fileOrder, from) < slices.Index(fileOrder, to) {
			t.Errorf("%v: %s is declared in %s.go, a later file", fset.Position(id.Pos()), id.Name, to)
		}
	}
	if uses < 1000 {
		t.Errorf("%d uses of other files' names found: the test does not see them", uses)
	}
}
