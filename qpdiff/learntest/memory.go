package learntest

import (
	"math"
	"reflect"
	"strings"
)

// memory returns all numbers that the value v holds or points to. Slices are included up to their
// capacity. memory skips types of package sync, which are safe for concurrent use.
func memory(v any) []uint64 {
	m := walk{visited: map[visit]bool{}}
	m.add(reflect.ValueOf(v))
	return m.numbers
}

// A visit is an address in memory, and the type of the value at this address.
type visit struct {
	at uintptr
	as reflect.Type
}

type walk struct {
	numbers []uint64
	visited map[visit]bool
}

func (m *walk) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		b := uint64(0)
		if v.Bool() {
			b = 1
		}
		m.numbers = append(m.numbers, b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		m.numbers = append(m.numbers, uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		m.numbers = append(m.numbers, v.Uint())
	case reflect.Float32, reflect.Float64:
		m.numbers = append(m.numbers, math.Float64bits(v.Float()))
	case reflect.Interface:
		m.add(v.Elem())
	case reflect.Pointer:
		if key := (visit{v.Pointer(), v.Type()}); !v.IsNil() && !m.visited[key] {
			m.visited[key] = true
			m.add(v.Elem())
		}
	case reflect.Struct:
		if strings.HasPrefix(v.Type().PkgPath(), "sync") {
			return
		}
		for i := range v.NumField() {
			m.add(v.Field(i))
		}
	case reflect.Slice:
		m.numbers = append(m.numbers, uint64(v.Len()))
		if key := (visit{v.Pointer(), v.Type()}); v.Cap() > 0 && !m.visited[key] {
			m.visited[key] = true
			all := v.Slice(0, v.Cap()) // once, because it allocates
			for i := range v.Cap() {
				m.add(all.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			m.add(v.Index(i))
		}
	case reflect.Map:
		m.numbers = append(m.numbers, uint64(v.Len()))
	}
}
