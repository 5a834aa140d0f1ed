package penalised

// A foldFit holds the fits of [GLM.Folds]. Let H be the Hessian on all rows, and Z̃ the rows of a
// fold, each multiplied by the square root of its weight. The Hessian of the fold's fit is H −
// Z̃ᵀZ̃. For a large fold this matrix is factorised, and for a small fold I − Z̃H⁻¹Z̃ᵀ.
type foldFit struct {
	fitID    uint64 // number of the fits, from check.NewState; 0 without fits
	ready    bool   // parts belong to the data
	normal   bool   // the parts have normalised features
	parts    []foldPart
	lastFold []int     // the last fold with each row of X, or −1
	placeOf  []int     // for each row of X, its place among the rows with a weight above 0, or −1
	hall, b  []float64 // H, or the penalties alone with normalised features, upper triangle; Σ wyz
	beta     []float64 // θ of each fold: q entries, or n with normalised features

	// Scratch of folds with normalised features; h and dinv are the factor of a small fold.
	h, dinv, work, row, block []float64
	ones                      []float64 // scale of features that are not scaled
	labelSquares              float64   // Σ wy² over all rows
}

// A foldPart is one fold.
type foldPart struct {
	val        []int     // rows of X
	inFit      []int     // places of the rows with a weight above 0
	large      bool      // see isLarge
	gram, b    []float64 // Z̃ᵀZ̃, upper triangle, and Σ wyz
	h, dinv    []float64 // of H − Z̃ᵀZ̃, or of I − Z̃H⁻¹Z̃ᵀ
	t          []float64 // H⁻¹Z̃ᵀ, q entries a row, of a small fold
	step, work []float64
	normal     normalFold // with normalised features; b and a large fold's gram then belong to the rows left
}

// isLarge reports whether a system of q unknowns is cheaper than a system of v unknowns, for a fold
// of v rows. The systems of all large folds together take fewer than 2·N·q numbers.
func isLarge(v, q int) bool { return 2*v > q }

// A normalFold holds sums over the rows outside a fold, with the features (z − mean)/scale. These
// features have the mean 0, so the intercept is the mean of the labels, and the system of a fold has
// n unknowns.
type normalFold struct {
	total       float64   // of the weights
	mean, scale []float64 // of z, the features minus glmFit.centre
	label       float64   // mean of the labels, which are relative to glmFit.label
	lossy       []int     // features of which less than gram.LeastKept is left
}

// A foldDerivative is the scratch of FoldsVJP.
type foldDerivative struct {
	uThenBeta, betaThenU []float64 // the u_k followed by the β_k; the β_k followed by the u_k
	products             []float64 // Σ u_kβ_kᵀ + β_ku_kᵀ
	sum, row, s          []float64

	deviation                   []float64 // of folds with normalised features
	h, dinv, work, work2, block []float64 // factor of a small one, and scratch
}
