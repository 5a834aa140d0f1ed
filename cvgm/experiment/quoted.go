package experiment

// Quoted is a number as others report it, digit by digit: in the paper, and in
// the output that is saved with the paper's published code. Empty where one of
// them is silent.
type Quoted struct{ Paper, Code string }
