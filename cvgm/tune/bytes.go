package tune

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/memory"
)

// bytesOf returns the number of bytes of a matrix.
func bytesOf(rows, columns int) int64 { return memory.Bytes(8 * float64(rows) * float64(columns)) }

// seenBytes returns the number of bytes that the method tuning.featuresOf allocates for the given
// number of rows.
func (w *tuning) seenBytes(rows int) int64 {
	_, n := w.c.Data.X.Dims()
	if w.prepare == nil && w.viewed {
		return bytesOf(momentColumns, n)
	}
	if w.prepare == nil {
		return bytesOf(rows, n)
	}
	_, m := w.prepare.Dims()
	if !w.viewed {
		return memory.Add(bytesOf(rows, n), bytesOf(rows, m))
	}
	all, _ := w.c.Data.X.Dims()
	stored := sample.StoredBytes(float64(all), float64(rows), float64(sample.MostStored(w.prepare)), float64(m))
	return memory.Add(bytesOf(rows, n), memory.Bytes(stored), bytesOf(momentColumns, m))
}

// tooLarge returns an error if a CV needs more memory than the configuration c allows. The CV needs
// byteCount bytes and has the given number of splits. If splits is 0, the bytes are a dense copy of
// X.
func tooLarge(c cvgm.Config, byteCount int64, splits int) error {
	bound := memory.Bound(c.MaxBytes)
	if byteCount <= bound {
		return nil
	}
	rows, n := c.Data.X.Dims()
	if c.Prepare != nil {
		_, n = c.Prepare.Dims()
	}
	what, in := "", fmt.Sprintf(" in %d splits", splits)
	if splits == 0 {
		what, in = "a dense copy of ", ""
	}
	return args.Bad("Tuner", qpdiff.ErrTooLarge, "give fewer features or rows, fewer Folds, OuterFolds −1, or raise MaxBytes; linear.ElasticNet needs least for many features, and linear learners for many rows",
		"%s, for %s%d rows × %d features%s%s", memory.Needs(byteCount, bound), what, rows, n, in, sample.Widest(c.Prepare))
}

// remaining returns the number of bytes that are left of maxBytes if inUse bytes are in use. The
// result is at least 1, because a MaxBytes of 0 means the default.
func remaining(maxBytes, inUse int64) int64 {
	if maxBytes = memory.Bound(maxBytes); maxBytes == memory.Unbounded {
		return maxBytes
	}
	return max(1, maxBytes-inUse)
}
