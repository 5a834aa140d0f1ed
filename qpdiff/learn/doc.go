// Package learn defines the interface [Learner]: a convex learning method whose fit can be
// differentiated. Further interfaces have methods that only some learners implement. [Data] is the
// training set, and [Grad] holds derivatives. Data.MaxBytes bounds the memory of a learner.
package learn
