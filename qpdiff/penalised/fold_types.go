package penalised

// A foldFit holds the fits of [GLM.Folds]. Let H be the Hessian on all rows, and Z̃ the rows of a
// fold, each multiplied by the square root of its weight. The Hessian of the fold's fit is H −
// Z̃ᵀZ̃. For a large fold this matrix is factorised, and for a small fold I − Z̃H⁻¹Z̃ᵀ.
type foldFit struct {
	number uint64 // of the fits, of check.NewState; 0 without
	ready  bool   // parts belong to the data
	parts  []foldPart
	last   []int     // the last fold with each row of X, or −1
	place  []int     // of each row of X among those that count, or −1
	all, b []float64 // H, upper triangle, and Σ wyz
	beta   []float64 // θ of each fold, q entries
}

// A foldPart is one fold.
type foldPart struct {
	val        []int     // rows of X
	counting   []int     // places of those that count
	large      bool      // as are h and gram for it
	gram, b    []float64 // Z̃ᵀZ̃, upper triangle, and Σ wyz
	h, dinv    []float64 // of H − Z̃ᵀZ̃, or of I − Z̃H⁻¹Z̃ᵀ
	t          []float64 // H⁻¹Z̃ᵀ, q entries a row, of a small fold
	step, work []float64
}
