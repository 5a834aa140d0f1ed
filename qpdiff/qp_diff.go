package qpdiff

type qpDerivative struct{ ready bool }
