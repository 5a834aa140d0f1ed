package dense

// Eps is the distance from 1 to the next float64.
const Eps = 0x1p-52

// SmallestNormal is the least float64 of full precision; its reciprocal is finite.
const SmallestNormal = 0x1p-1022
