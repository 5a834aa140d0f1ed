package qpdiff
import _ "pgregory.net/rapid"
import _ "github.com/google/go-cmp/cmp"
