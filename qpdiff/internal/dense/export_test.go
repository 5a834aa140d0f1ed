package dense

// The series, for their test.
var (
	Expm1      = expm1
	Expm1Short = expm1Short
)
