package experiment

// Tests of all experiments need these facts about the parameters. They lie outside this
// package, because package registry, which lists the experiments, imports it.
const MaxCount = maxCount

var EachField, IsText, WordsOf = eachField, isText, wordsOf

type Domain struct {
	Low, High float64
	LowOpen   bool
	Listed    []float64
	Contains  func(v float64) bool
}

func DomainOf(tag string) Domain {
	d := domainOf(tag)
	return Domain{d.low, d.high, d.lowOpen, d.listed, d.contains}
}
