// Package learn defines a learner: one convex learning method whose fit can be differentiated
// ([Learner], with optional interfaces for the abilities of some learners), its training set
// ([Data]) and its derivatives ([Grad]). Data.MaxBytes bounds the memory of a learner.
package learn
