package cvgm

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cvgm/qpdiff"
)

// checksumKey is the key of the checksum in the JSON of a model and of a pipeline.
const checksumKey = "checksum"

// checksum returns the SHA-256 of the values of a JSON object but for its checksum, and that one, nil without
// one. Keys are sorted, numbers are float64s and strings UTF-8, so that other spaces, escapes, forms of
// numbers and orders of keys leave it as it is.
func checksum(text []byte) (sum string, given any, err error) {
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return "", nil, err
	}
	given = values[checksumKey]
	delete(values, checksumKey)
	canonical, err := json.Marshal(values)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(canonical)), given, err
}

// withChecksum returns the JSON of v, an object, with its checksum as the last key.
func withChecksum(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum, _, err := checksum(text)
	return fmt.Appendf(text[:len(text)-1], ",%q:%q}", checksumKey, sum), err
}

// verifyChecksum reports an object whose values are not those that withChecksum wrote.
func verifyChecksum(text []byte) error {
	const remedy = "take an undamaged copy, or fit again and write the JSON anew"
	sum, given, err := checksum(text)
	if err != nil {
		return fmt.Errorf("cvgm: %w", err)
	}
	return firstError(
		badIf(given == nil, checksumKey, qpdiff.ErrDomain, remedy, "is missing"),
		badIf(given != sum, checksumKey, qpdiff.ErrDomain, remedy, "does not fit: the text was changed after MarshalJSON wrote it"),
	)
}
