package cvgm

import (
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// overflow is the error of an α at which a value is not finite.
func overflow(format string, values ...any) error {
	return args.Bad("alpha", qpdiff.ErrNotFinite, "take α closer to where it is finite, or scale the data", "is out of range: "+format, values...)
}

// A SplitError is the error of one split. If several splits fail, it is the error of the split with
// the lowest index.
type SplitError struct {
	Split int
	Err   error
}

func (e *SplitError) Error() string { return args.At(e.Err, "split %d", e.Split).Error() }

func (e *SplitError) Unwrap() error { return e.Err }
