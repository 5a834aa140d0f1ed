//go:build race

package serial

const detecting = true
