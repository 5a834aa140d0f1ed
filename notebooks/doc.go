// Package notebooks holds the GoNB notebooks and what runs them. Its Go files
// only keep in go.mod what the notebooks alone import.
package notebooks

import _ "github.com/janpfeifer/gonb/gonbui" // the notebooks show figures through it
