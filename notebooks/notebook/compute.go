package notebook

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/notebooks/source"
)

// Compute returns the result of the experiment with the parameters p. It reads the result from the
// store. If the store does not have the result, it computes the result. The key in the store
// depends on the parameters, on the method Run, and on all source that Run reaches (package
// source). So Compute never returns a result that other source code has computed. The key does not
// depend on time stamps. The type of p must be declared in this module, not in the notebook.
//
// If an experiment has cells, Compute stores each cell as soon as it is done. It also uses cells
// that workers of package worker have stored. An error or an interrupt ends the cell of the
// notebook. Under ./reproduce.sh, each parameter must have its default or a value that -p has set.
//
//	result := notebook.Compute(params())
func Compute[R any](p interface {
	Run(ctx context.Context, hooks experiment.Hooks) (R, error)
}) R {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	NoteCopy()
	Check(noteComputed(p))
	if os.Getenv(TwinVar) != "" {
		p = shiftedCopy(p)
	}
	t := reflect.TypeOf(p)
	function := t.PkgPath() + "." + t.Name() + ".Run"
	source := Must(module().Function(function))
	e := Must(newEntry(storeDir(), function, source, p))
	Check(record(map[string]any{"function": e.function, "title": function, "parameters": e.params, "key": e.key, "source": source}))
	var result R
	if e.load(e.path, &result) {
		return result
	}
	if listed(e, p) {
		os.Exit(0)
	}
	began := time.Now()
	Check(record(map[string]any{"computing": e.function}))
	report, end := progress()
	result, err := p.Run(ctx, experiment.Hooks{Progress: report, Keeper: e})
	end()
	if err != nil {
		e.close(false)
		if ctx.Err() != nil {
			err = errors.New("interrupted; what was finished is kept")
		}
	}
	Check(err)
	Check(record(map[string]any{"computed": e.key, "seconds": time.Since(began).Seconds()}))
	e.close(e.save(e.path, &result))
	return result
}

// twinShift is a relative change of the parameters. It is far above one rounding error, 2⁻⁵³. So
// its effect on results is at least as large as the effect of all rounding errors of a run
// together. It is far below the precision with which parameters are given.
const twinShift = 1.0 / (1 << 40)

// shiftedCopy returns a copy of the parameters p in which each floating-point number is multiplied
// by 1 + twinShift. The parameters must not contain pointers or maps.
func shiftedCopy[P any](p P) P {
	var move func(v reflect.Value)
	move = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Float64:
			v.SetFloat(v.Float() * (1 + twinShift))
		case reflect.Struct:
			for i := range v.NumField() {
				move(v.Field(i))
			}
		case reflect.Slice:
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			v.Set(own)
			for i := range v.Len() {
				move(v.Index(i))
			}
		}
	}
	moved := reflect.New(reflect.TypeOf(p)).Elem()
	moved.Set(reflect.ValueOf(p))
	move(moved)
	return moved.Interface().(P)
}

// storeDir returns the folder of the stored results.
func storeDir() string {
	if dir := os.Getenv(StoreVar); dir != "" {
		return dir
	}
	return filepath.Join(Must(source.Root()), ".work", "store")
}

// module returns the source at the time of the first call.
var module = sync.OnceValue(func() *source.Module { return Must(source.Open(Must(source.Root()))) })
