package kernels

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"cvgm/cvgm/experiment"
)

// take returns the first n states.
func take[S any](t *testing.T, n int, states iter.Seq2[S, error]) []S {
	t.Helper()
	var taken []S
	for s, err := range states {
		if err != nil {
			t.Fatal(err)
		}
		if taken = append(taken, s); len(taken) == n {
			break
		}
	}
	return taken
}

func second[T any](_ T, err error) error { return err }

func TestKernelSteppersTakeTheStepsOfRun(t *testing.T) {
	rings, xor := DefaultRings(), DefaultXOR()
	for _, p := range []*LearnedKernel{&rings.LearnedKernel, &xor.LearnedKernel} {
		p.K, p.Steps, p.ManifoldSteps, p.Test = 12, 4, nil, 200
	}
	for name, of := range map[string]struct {
		run     func(context.Context) (*LearnedKernelResult, error)
		stepper func(Variant) (*experiment.Stepper, error)
	}{"rings": {runRings(rings), rings.Stepper}, "XOR": {runXOR(xor), xor.Stepper}} {
		r, err := of.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range Variants {
			w, err := of.stepper(v)
			if err != nil {
				t.Fatal(err)
			}
			if w.Rule.Accuracy != r.Bayes.Population {
				t.Errorf("%s: Bayes accuracy %v, want %v", name, w.Rule.Accuracy, r.Bayes.Population)
			}
			run := r.Run(v)
			for i, s := range take(t, len(run.CVLoss), w.States(t.Context())) {
				test, err := experiment.Evaluate(s.Model, w.Test)
				if err != nil {
					t.Fatal(err)
				}
				if s.Step != i || s.CVLoss != run.CVLoss[i] || s.Cosine != run.Cosine[i] || test.Accuracy != run.Accuracy[i] {
					t.Errorf("%s, %v: step %d has CV loss %v, cosine %v, accuracy %v; Run has %v, %v, %v", name, v,
						s.Step, s.CVLoss, s.Cosine, test.Accuracy, run.CVLoss[i], run.Cosine[i], run.Accuracy[i])
				}
			}
		}
	}
}

func TestKernelSteppersRefuseBadParams(t *testing.T) {
	rings, xor := DefaultRings(), DefaultXOR()
	rings.Hidden = []int{0}
	xor.Overlap = 2
	for name, err := range map[string]error{
		"hidden":  second(rings.Stepper(Full)),
		"overlap": second(xor.Stepper(Full)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func ExampleRingsParams_Stepper() {
	w, err := DefaultRings().Stepper(Full)
	if err != nil {
		fmt.Println(err)
		return
	}
	for s, err := range w.States(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if s.Step%10 == 0 {
			test, err := experiment.Evaluate(s.Model, w.Test)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("after %2d steps: CV loss %.3f, test accuracy %.3f\n", s.Step, s.CVLoss, test.Accuracy)
		}
		if s.Step == 20 {
			break
		}
	}
	// Output:
	// after  0 steps: CV loss 0.701, test accuracy 0.567
	// after 10 steps: CV loss 0.437, test accuracy 0.879
	// after 20 steps: CV loss 0.354, test accuracy 0.905
}
