package dense

// Eps is the distance from 1 to the next float64.
const Eps = 0x1p-52

// SmallestNormal is the smallest float64 of full precision. The reciprocal of SmallestNormal is
// finite.
const SmallestNormal = 0x1p-1022
