package store

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Format is the name of the encoding. Every key depends on Format. If the encoding changes, results
// in the old encoding are thus not found.
const Format = "plain values 1"

var errDamaged = errors.New("its bytes are not those of such a value")

// Encode returns the bytes of a value, for Decode. The argument is a pointer to the value, or a
// pointer to a pointer to the value. The bytes contain no types, so equal values of one type have
// equal bytes in every process. For interfaces, functions, channels and unexported fields, Encode
// returns an error, unless the type of the value is an encoding.BinaryMarshaler. A value must not
// contain cycles.
func Encode(from any) ([]byte, error) {
	v := reflect.ValueOf(from)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.CanAddr() {
		return nil, fmt.Errorf("store: encode: have %T, want a pointer to a value", from)
	}
	data, err := appendValue(nil, v)
	if err != nil {
		return nil, fmt.Errorf("store: encode %T: %w", from, err)
	}
	return data, nil
}

// Decode sets the value to which dst points. The data must be the bytes that Encode returns for a
// value of the same type. After an error, the value is undefined.
func Decode(data []byte, dst any) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("store: decode: have %T, want a pointer to a value", dst)
	}
	v = v.Elem()
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.SetZero()
	d := decoder{data}
	if err := d.value(v); err != nil {
		return err
	}
	if len(d.data) > 0 {
		return errDamaged
	}
	return nil
}

// appendValue appends the bytes of an addressable value. The bytes of a slice or map begin with its
// length plus one. For a nil slice or map, they begin with zero.
func appendValue(data []byte, v reflect.Value) ([]byte, error) {
	if m, is := v.Addr().Interface().(encoding.BinaryMarshaler); is {
		text, err := m.MarshalBinary()
		return append(binary.AppendUvarint(data, uint64(len(text))), text...), err
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(data, 1), nil
		}
		return append(data, 0), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(data, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(data, v.Uint()), nil
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(data, math.Float64bits(v.Float())), nil
	case reflect.String:
		return append(binary.AppendUvarint(data, uint64(v.Len())), v.String()...), nil
	case reflect.Pointer:
		if v.IsNil() {
			return append(data, 0), nil
		}
		return appendValue(append(data, 1), v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return append(data, 0), nil
		}
		return appendElements(binary.AppendUvarint(data, uint64(v.Len())+1), v)
	case reflect.Array:
		return appendElements(data, v)
	case reflect.Struct:
		return appendFields(data, v)
	case reflect.Map:
		return appendMap(data, v)
	}
	return nil, fmt.Errorf("a %v cannot be kept", v.Type())
}

func appendElements(data []byte, v reflect.Value) (_ []byte, err error) {
	if v.Type().Elem().Size() == 0 {
		return nil, fmt.Errorf("a %v cannot be kept: its elements are empty", v.Type())
	}
	for i := range v.Len() {
		if data, err = appendValue(data, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func appendFields(data []byte, v reflect.Value) (_ []byte, err error) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); !f.IsExported() {
			return nil, fmt.Errorf("a %v cannot be kept: its field %s is not exported", v.Type(), f.Name)
		}
		if data, err = appendValue(data, v.Field(i)); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// appendMap appends the bytes of a map. The order of the entries is the order of their encoded
// keys.
func appendMap(data []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(data, 0), nil
	}
	var entries [][2][]byte
	for _, k := range v.MapKeys() {
		var entry [2][]byte
		for i, part := range []reflect.Value{k, v.MapIndex(k)} {
			own := reflect.New(part.Type()).Elem()
			own.Set(part)
			text, err := appendValue(nil, own)
			if err != nil {
				return nil, err
			}
			entry[i] = text
		}
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) })
	data = binary.AppendUvarint(data, uint64(len(entries))+1)
	for _, e := range entries {
		data = append(append(data, e[0]...), e[1]...)
	}
	return data, nil
}

// A decoder holds the bytes that are not read yet.
type decoder struct{ data []byte }

// uint reads a number of at most limit.
func (d *decoder) uint(limit uint64) (uint64, error) {
	u, n := binary.Uvarint(d.data)
	if n <= 0 || u > limit {
		return 0, errDamaged
	}
	d.data = d.data[n:]
	return u, nil
}

// bytes reads a length, and then this many bytes.
func (d *decoder) bytes() ([]byte, error) {
	n, err := d.uint(math.MaxUint64)
	if err != nil || n > uint64(len(d.data)) {
		return nil, errDamaged
	}
	text := d.data[:n]
	d.data = d.data[n:]
	return text, nil
}

// length reads the length n of a slice or map. The result notNil is false if the slice or map is
// nil. Each element has at least one byte, so length returns an error if n is above the number of
// remaining bytes.
func (d *decoder) length() (n int, notNil bool, err error) {
	u, err := d.uint(uint64(len(d.data)) + 1)
	return max(0, int(u)-1), u > 0, err
}

// value sets v, which must be zero.
func (d *decoder) value(v reflect.Value) error {
	if m, is := v.Addr().Interface().(encoding.BinaryUnmarshaler); is {
		text, err := d.bytes()
		if err != nil {
			return err
		}
		return m.UnmarshalBinary(text)
	}
	switch v.Kind() {
	case reflect.Bool:
		u, err := d.uint(1)
		v.SetBool(u == 1)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, n := binary.Varint(d.data)
		if n <= 0 || v.OverflowInt(i) {
			return errDamaged
		}
		d.data = d.data[n:]
		v.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		u, err := d.uint(math.MaxUint64)
		if err != nil || v.OverflowUint(u) {
			return errDamaged
		}
		v.SetUint(u)
	case reflect.Float64:
		const size = 8
		if len(d.data) < size {
			return errDamaged
		}
		v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(d.data)))
		d.data = d.data[size:]
	case reflect.String:
		text, err := d.bytes()
		v.SetString(string(text))
		return err
	case reflect.Pointer:
		if some, err := d.uint(1); err != nil || some == 0 {
			return err
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem())
	case reflect.Slice:
		n, some, err := d.length()
		if err != nil || !some {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		return d.each(n, v.Index)
	case reflect.Array:
		return d.each(v.Len(), v.Index)
	case reflect.Struct:
		return d.each(v.NumField(), v.Field)
	case reflect.Map:
		return d.mapping(v)
	default:
		return fmt.Errorf("a %v cannot be kept", v.Type())
	}
	return nil
}

func (d *decoder) each(n int, part func(i int) reflect.Value) error {
	for i := range n {
		if err := d.value(part(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) mapping(v reflect.Value) error {
	n, some, err := d.length()
	if err != nil || !some {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), n))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if err := errors.Join(d.value(key), d.value(value)); err != nil {
			return err
		}
		v.SetMapIndex(key, value)
	}
	return nil
}
