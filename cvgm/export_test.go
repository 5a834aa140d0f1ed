package cvgm

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Thetas returns a copy of the parameters fitted to each split at the last
// Eval, and the intercepts added to their predictions.
func (cv *CV) Thetas() (thetas [][]float64, intercepts []float64) {
	for j := range cv.fits {
		thetas = append(thetas, slices.Clone(cv.fits[j].theta))
		intercepts = append(intercepts, cv.fits[j].intercept)
	}
	return thetas, intercepts
}

// Rechecked returns the text of a model or pipeline with the checksums of its values, so that tests reach
// what else is checked. Text whose keys are refused stays as it is.
func Rechecked(text []byte) []byte {
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return text
	}
	keys, kind := modelKeys, ""
	if values["model"] != nil {
		keys, kind = pipelineKeys, "pipeline"
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if checkKeys(d, keys, kind) != nil {
		return text
	}
	delete(values, checksumKey)
	if model, ok := values["model"]; ok {
		values["model"] = Rechecked(model)
	}
	checked, err := withChecksum(values)
	if err != nil {
		return text
	}
	return checked
}
