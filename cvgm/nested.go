package cvgm

import (
	"context"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// A Score is the estimated risk of a candidate, with its standard error, in the unit of the
// loss. A candidate is a setting of a search that the CV loss cannot judge, because the search
// fits it: the weight of an outer penalty, the number of steps, the searcher.
type Score struct{ Loss, Error float64 }

// NestedScores estimates the risk of candidates by nested cross-validation (Varma and Simon
// 2006). For each outer fold, losses runs the search of each candidate on the examples
// fold.Train, and returns the losses of its model on the examples fold.Val, [candidate][example].
// No search may see the fold's validation rows; [CV.FinalOn] and [Model.Losses] give the losses.
// The folds, of [KFold] for example, need not validate on all examples.
//
// The Loss of a candidate is the mean over the examples that are validated on; an example in
// several folds counts by its mean there. The Error is the standard error of that mean over the
// examples, as if they were independent: see [CV.StandardError]. The fits cost as many searches
// as there are folds and candidates, unless candidates share a search, as numbers of steps do.
//
// Workers bounds the goroutines that share the folds, and thus the calls of losses at the same
// time; zero is GOMAXPROCS. The scores do not depend on it. After ctx is done no other fold
// begins. The error of the lowest fold that fails is a [SplitError].
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
	scores := make([]Score, len(results[0]))
	for c := range scores {
		if scores[c], err = scoreOf(results, folds, c); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// checkLosses reports losses that are not one for each validation row of a fold, for each of so
// many candidates.
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

// scoreOf returns the score of candidate c over the examples.
func scoreOf(results [][][]float64, folds []Split, c int) (Score, error) {
	sums, counts := map[int]float64{}, map[int]float64{}
	var rows []int // in the order of the folds
	for j, f := range folds {
		for at, i := range f.Val {
			if counts[i] == 0 {
				rows = append(rows, i)
			}
			counts[i]++
			sums[i] += results[j][c][at]
		}
	}
	n := float64(len(rows))
	if n < 2 {
		return Score{}, args.Bad("folds", qpdiff.ErrShape, "validate on more examples", "validate on one example, whose loss has no standard error")
	}
	s := Score{}
	for _, i := range rows {
		sums[i] /= counts[i]
		s.Loss += sums[i] / n // terms that cannot overflow
	}
	deviations := make([]float64, len(rows))
	for at, i := range rows {
		deviations[at] = (sums[i] - s.Loss) / n
	}
	s.Error = floats.Norm(deviations, 2) * math.Sqrt(n/(n-1))
	return s, args.BadIf(!args.Finite(s.Loss) || !args.Finite(s.Error), "losses", qpdiff.ErrNotFinite, "scale the loss", "of candidate %d have the mean %v with the standard error %v", c, s.Loss, s.Error)
}

// Simplest returns the index of the first score whose Loss is at most the lowest Loss plus so
// many of that score's standard errors. The scores are in order from the simplest candidate to
// the most flexible, such as from the largest weight of an outer penalty to none, or from few
// steps to many. With 0 errors it is the first of the lowest; 1 is the one-standard-error rule
// (Breiman, Friedman, Olshen and Stone 1984; Hastie, Tibshirani and Friedman 2009, section
// 7.10), which takes a simpler candidate where the data do not tell it from the best.
//
// No scores are an error of kind [qpdiff.ErrEmpty], errors below 0 or not finite one of kind
// [qpdiff.ErrDomain], and a standard error below 0, a NaN or −Inf, and +Inf as the lowest loss one
// of kind [qpdiff.ErrNotFinite].
func Simplest(scores []Score, errors float64) (int, error) {
	if err := args.First(
		args.BadIf(len(scores) == 0, "scores", qpdiff.ErrEmpty, "give at least one candidate", "are none"),
		args.BadIf(!(errors >= 0 && args.Finite(errors)), "errors", qpdiff.ErrDomain, "use 1, or 0 for the lowest", "is %v", errors),
	); err != nil {
		return 0, err
	}
	best := 0
	for c, s := range scores {
		if !(s.Loss > math.Inf(-1)) || !(s.Error >= 0) {
			return 0, args.Bad("scores", qpdiff.ErrNotFinite, "leave the candidate out", "hold the loss %v ± %v of candidate %d", s.Loss, s.Error, c)
		}
		if s.Loss < scores[best].Loss {
			best = c
		}
	}
	limit := scores[best].Loss
	if errors > 0 {
		limit += errors * scores[best].Error
	}
	if !args.Finite(limit) {
		return 0, args.Bad("scores", qpdiff.ErrNotFinite, "give a candidate of finite loss and standard error", "are lowest at %v ± %v", scores[best].Loss, scores[best].Error)
	}
	for c, s := range scores {
		if s.Loss <= limit {
			return c, nil
		}
	}
	return best, nil
}
