package cvgm

import (
	"context"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// A Score is the estimated risk of a candidate, in the unit of the loss. A candidate is a setting
// of a search: the weight of an outer penalty, the number of steps, or the searcher. The CV loss
// cannot judge such a setting, because the search minimises the CV loss itself.
type Score struct {
	Loss  float64 // the estimate
	Error float64 // its standard error
	// Paired is the standard error of the difference Loss − (lowest Loss of all candidates). It is
	// computed from the differences on the same examples. For the candidate with the lowest Loss it
	// is 0. Paired is usually far below Error, because examples that are hard for one candidate are
	// hard for all.
	Paired float64
}

// NestedScores estimates the risk of candidates by nested cross-validation (Varma and Simon 2006).
// For each outer fold, NestedScores calls the function losses. This function runs the search of
// each candidate on the examples fold.Train. Entry [c][i] of its result is the loss of candidate
// c's model on example fold.Val[i]. No search may see the fold's validation rows. [CV.FinalOn] and
// [Model.Losses] compute the losses. The folds, for example from [KFold], need not validate on all
// examples.
//
// The Loss of a candidate is the mean of its losses on the validated examples. If several folds
// validate on an example, the example counts once, with its mean loss over these folds. The
// standard errors treat the examples as independent: see [CV.StandardError]. The cost is one search
// for each fold and candidate. Candidates that differ only in the number of steps may share a
// search.
//
// The parameter workers bounds the number of goroutines that share the folds, and so the number of
// concurrent calls of losses. If workers is zero, the bound is GOMAXPROCS. The scores do not depend
// on workers. After ctx is done, no further fold begins. If folds fail, NestedScores returns the
// error of the fold with the lowest index, as a [SplitError].
func NestedScores(ctx context.Context, folds []Split, workers int, losses func(ctx context.Context, fold Split) ([][]float64, error)) ([]Score, error) {
	if err := args.First(
		args.BadIf(len(folds) == 0, "folds", qpdiff.ErrEmpty, "draw some, for example with KFold", "are none"),
		args.BadIf(losses == nil, "losses", qpdiff.ErrEmpty, "give a function that searches on the training rows of a fold", "is nil"),
	); err != nil {
		return nil, err
	}
	results := make([][][]float64, len(folds))
	err := qpdiff.ForEach(workers, len(folds), func(j int) error {
		err := ctx.Err()
		if err == nil {
			results[j], err = losses(ctx, folds[j])
		}
		if err != nil {
			return &SplitError{j, err}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for j, r := range results {
		if err := checkLosses(r, folds[j], len(results[0])); err != nil {
			return nil, &SplitError{j, err}
		}
	}
	of := byExample(results, folds)
	scores, best := make([]Score, len(of)), 0
	for c := range scores {
		if scores[c].Loss, scores[c].Error, err = meanAndError(of[c]); err != nil {
			return nil, err
		}
		if scores[c].Loss < scores[best].Loss {
			best = c
		}
	}
	lowest := slices.Clone(of[best])
	for c := range scores {
		floats.Sub(of[c], lowest)
		if _, scores[c].Paired, err = meanAndError(of[c]); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// checkLosses returns an error unless losses has as many candidates as given, and each candidate
// has one loss for each validation row of the fold.
func checkLosses(losses [][]float64, fold Split, candidates int) error {
	if len(losses) == 0 || len(losses) != candidates {
		return args.Bad("losses", qpdiff.ErrShape, "return the losses of each candidate, the same ones for each fold", "are of %d candidates, those of fold 0 of %d", len(losses), candidates)
	}
	for c, l := range losses {
		if len(l) != len(fold.Val) || len(l) == 0 {
			return args.Bad("losses", qpdiff.ErrShape, "return one loss for each validation row of the fold", "of candidate %d are %d for %d validation rows", c, len(l), len(fold.Val))
		}
		if err := args.CheckFinite("losses", l, "return an error for a candidate without a model"); err != nil {
			return err
		}
	}
	return nil
}

// byExample returns the loss of each candidate on each validated example, with the indices
// [candidate][example]. Each loss is the mean over the folds that validate on the example.
func byExample(results [][][]float64, folds []Split) [][]float64 {
	place := map[int]int{} // of an example, in the order of the folds
	var counts []float64
	for _, f := range folds {
		for _, i := range f.Val {
			if _, ok := place[i]; !ok {
				place[i] = len(counts)
				counts = append(counts, 0)
			}
			counts[place[i]]++
		}
	}
	losses := make([][]float64, len(results[0]))
	for c := range losses {
		losses[c] = make([]float64, len(counts))
		for j, f := range folds {
			for at, i := range f.Val {
				losses[c][place[i]] += results[j][c][at] / counts[place[i]] // terms that cannot overflow
			}
		}
	}
	return losses
}

// meanAndError returns the mean of the losses and its standard error.
func meanAndError(losses []float64) (mean, se float64, err error) {
	n := float64(len(losses))
	if n < 2 {
		return 0, 0, args.Bad("folds", qpdiff.ErrShape, "validate on more examples", "validate on one example, whose loss has no standard error")
	}
	for _, l := range losses {
		mean += l / n // terms that cannot overflow
	}
	deviations, shares := make([]float64, len(losses)), slices.Repeat([]float64{1 / n}, len(losses))
	for i, l := range losses {
		deviations[i] = (l - mean) / n
	}
	se, _ = sample.MeanError(deviations, shares)
	return mean, se, args.BadIf(!args.Finite(mean) || !args.Finite(se), "losses", qpdiff.ErrNotFinite, "scale the loss", "have the mean %v with the standard error %v", mean, se)
}

// Simplest returns the index of the first score with Loss ≤ minLoss + errors·Paired, where minLoss
// is the lowest Loss of all scores. The scores must be ordered from the simplest candidate to the
// most flexible, for example from the largest weight of an outer penalty to none, or from few steps
// to many.
//
// If errors is 0, Simplest returns the first score with the lowest Loss. If errors is 1, it applies
// a one-standard-error rule: it selects a simpler candidate if the data do not distinguish this
// candidate from the best. The original one-standard-error rule (Breiman, Friedman, Olshen and
// Stone 1984) uses the Error of the score with the lowest Loss. To apply the original rule, or for
// losses on different examples, set every Paired to this Error.
//
// If there are no scores, the error is of kind [qpdiff.ErrEmpty]. If the argument errors is below 0
// or not finite, the error is of kind [qpdiff.ErrDomain]. If a Paired is below 0, if a value is NaN
// or −Inf, or if the lowest loss is +Inf, the error is of kind [qpdiff.ErrNotFinite].
func Simplest(scores []Score, errors float64) (int, error) {
	if err := args.First(
		args.BadIf(len(scores) == 0, "scores", qpdiff.ErrEmpty, "give at least one candidate", "are none"),
		args.BadIf(!(errors >= 0 && args.Finite(errors)), "errors", qpdiff.ErrDomain, "use 1, or 0 for the lowest", "is %v", errors),
	); err != nil {
		return 0, err
	}
	minLoss := math.Inf(1)
	for c, s := range scores {
		if !(s.Loss > math.Inf(-1)) || !(s.Paired >= 0 && args.Finite(s.Paired)) {
			return 0, args.Bad("scores", qpdiff.ErrNotFinite, "leave the candidate out", "hold the loss %v of candidate %d, with the paired error %v", s.Loss, c, s.Paired)
		}
		minLoss = min(minLoss, s.Loss)
	}
	if !args.Finite(minLoss) {
		return 0, args.Bad("scores", qpdiff.ErrNotFinite, "give a candidate of finite loss", "are lowest at %v", minLoss)
	}
	return slices.IndexFunc(scores, func(s Score) bool { return args.Finite(s.Loss) && s.Loss <= minLoss+errors*s.Paired }), nil
}
