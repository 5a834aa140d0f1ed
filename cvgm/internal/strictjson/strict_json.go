// Package strictjson checks the keys and the checksum of JSON texts. encoding/json does not check
// them.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"maps"
	"slices"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// ChecksumKey is the key of the checksum in the JSON of a model and of a pipeline.
const ChecksumKey = "checksum"

// Checksum returns the CRC-64 of the values of a JSON object, except its checksum. It also returns
// the checksum that the object contains, or nil if there is none. For the CRC, keys are sorted,
// numbers are float64s and strings are UTF-8. So the CRC does not depend on spaces, on the order of
// keys, or on how strings and numbers are written.
func Checksum(text []byte) (sum string, given any, err error) {
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return "", nil, err
	}
	given = values[ChecksumKey]
	delete(values, ChecksumKey)
	canonical, err := json.Marshal(values)
	return fmt.Sprintf("crc64:%016x", crc64.Checksum(canonical, crc64.MakeTable(crc64.ECMA))), given, err
}

// WithChecksum returns v as a JSON object whose last key is the checksum. The JSON of v must be an
// object.
func WithChecksum(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum, _, err := Checksum(text)
	return fmt.Appendf(text[:len(text)-1], ",%q:%q}", ChecksumKey, sum), err
}

// Verify returns an error if the values of an object differ from the values that WithChecksum
// wrote.
func Verify(text []byte) error {
	const remedy = "take an undamaged copy, or fit again and write the JSON anew"
	sum, given, err := Checksum(text)
	if err != nil {
		return fmt.Errorf("cvgm: %w", err)
	}
	return args.First(
		args.BadIf(given == nil, ChecksumKey, qpdiff.ErrDomain, remedy, "is missing"),
		args.BadIf(given != sum, ChecksumKey, qpdiff.ErrDomain, remedy, "does not fit: the text was changed after MarshalJSON wrote it, or an earlier version wrote it"),
	)
}

// Read reads valid JSON into dst. It returns an error for nulls, and for keys that are unknown,
// repeated or missing. (encoding/json would accept all of these texts, and also keys in another
// case.) The map keys holds, under the name of each object, the object's keys; the value of a key
// is true if it is required. The name of an object is the key that holds it; the outermost object
// has the name root. If keys holds nil under a name, Read skips the value of the key with this
// name.
func Read(text []byte, keys map[string]map[string]bool, root string, dst any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a number out of range is found below
	if err := checkKeys(d, keys, root); err != nil {
		return err
	}
	if err := json.Unmarshal(text, dst); err != nil {
		return fmt.Errorf("cvgm: not a %s (%w): read the text that MarshalJSON wrote", root, err)
	}
	return nil
}

// checkKeys makes the checks of Read for the value of the given key.
func checkKeys(d *json.Decoder, keys map[string]map[string]bool, key string) error {
	switch token, _ := d.Token(); token {
	case nil:
		return args.Bad(key, qpdiff.ErrDomain, "give numbers", "holds null")
	case json.Delim('['):
		for d.More() {
			if err := checkKeys(d, keys, key); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		if err := checkObject(d, keys, key); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err := d.Token() // the closing delimiter
	return err
}

// checkObject does the work of checkKeys for an object, after its opening brace.
func checkObject(d *json.Decoder, keys map[string]map[string]bool, key string) error {
	known, seen := keys[key], map[string]bool{}
	for d.More() {
		name, _ := d.Token()
		k := name.(string)
		if _, ok := known[k]; !ok {
			return args.Bad(key, qpdiff.ErrDomain, "remove the key, or correct its name", "has the unknown key %q", k)
		}
		if seen[k] {
			return args.Bad(key, qpdiff.ErrDomain, "remove one of them", "has the key %q twice", k)
		}
		seen[k] = true
		if own, listed := keys[k]; listed && own == nil {
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				return err
			}
		} else if err := checkKeys(d, keys, k); err != nil {
			return err
		}
	}
	missing := slices.Sorted(maps.Keys(known))
	missing = slices.DeleteFunc(missing, func(k string) bool { return !known[k] || seen[k] })
	return args.BadIf(len(missing) > 0, key, qpdiff.ErrShape, "add what is missing", "lacks %s", strings.Join(missing, ", "))
}
