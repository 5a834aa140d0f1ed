// Package learn defines a learner: one convex learning method whose fit can be differentiated
// ([Learner]). Optional interfaces describe abilities of some learners. [Data] is the training set,
// and [Grad] holds derivatives. Data.MaxBytes bounds the memory of a learner.
package learn
