package penalised

// A foldFit holds the fits of [GLM.Folds]. Let H be the Hessian on all rows. Let Z̃ be the rows of
// a fold, each multiplied by the square root of its weight. The fit without the fold has the
// Hessian H − Z̃ᵀZ̃. For a large fold this matrix is factorised. For a small fold the smaller
// matrix I − Z̃H⁻¹Z̃ᵀ is factorised.
type foldFit struct {
	fitID      uint64 // number of the fits, from check.NewState; 0 without fits
	partsValid bool   // parts belong to the data
	normal     bool   // the parts have normalised features
	parts      []foldPart
	lastFold   []int // the last fold with each row of X, or −1
	placeOf    []int // for each row of X, its place among the rows with a weight above 0, or −1
	// hessianAll is the upper triangle of H, or of the penalties alone if features are normalised. b
	// is the sum of w·y·z over the rows z with weights w and labels y.
	hessianAll, b []float64
	beta          []float64 // the θ of each fold, which has q entries, or n if features are normalised

	// Scratch of folds with normalised features. The factor of a small fold is in h and dinv.
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
	h, dinv    []float64 // factor of H − Z̃ᵀZ̃, or of I − Z̃H⁻¹Z̃ᵀ
	t          []float64 // for a small fold: H⁻¹Z̃ᵀ, q entries a row
	step, work []float64
	// for normalised features; b, and the gram of a large fold, are then sums over the rows outside
	// the fold
	normal normalFold
}

// isLarge reports whether a fold of v rows is large. It is large if a system of q unknowns is
// cheaper than a system of v unknowns. The systems of all large folds together hold fewer than
// 2·N·q numbers.
func isLarge(v, q int) bool { return 2*v > q }

// A normalFold holds sums over the rows outside a fold, with the normalised features (z −
// mean)/scale. The means of the normalised features are 0. The intercept is therefore the mean of
// the labels, and the system of a fold has n unknowns.
type normalFold struct {
	total       float64   // of the weights
	mean, scale []float64 // of z, the features minus glmFit.centre
	label       float64   // mean of the labels, which are relative to glmFit.label
	// the features whose sum of squares a subtraction reduces to less than gram.LeastKept times its
	// value
	lossyFeatures []int
}

// A foldDerivative is the scratch of FoldsVJP and FoldsHessian.
type foldDerivative struct {
	uThenBeta, betaThenU []float64 // uThenBeta has all u_k followed by all β_k, and betaThenU has all β_k followed by all u_k
	products             []float64 // Σ u_kβ_kᵀ + β_ku_kᵀ
	sum, row, s          []float64

	deviation                   []float64 // of folds with normalised features
	h, dinv, work, work2, block []float64 // factor of a small one, and scratch

	// of FoldsHessian
	u           []float64
	betas       []float64 // the β_j of a fold, q entries each
	turned      []float64 // scratch of the solutions
	corrections []float64 // of the β_j of a small fold, an entry for each row of the fold
	inverse     []float64 // of the Hessian of all rows, or empty
	predicted   []float64 // the z_tᵀβ_j of a row z_t
	second      []float64 // the Hessian, upper triangle
}
