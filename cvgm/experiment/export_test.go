package experiment

// The tests of this package are external and need these exported names, because they import package
// registry, which imports this package.
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
