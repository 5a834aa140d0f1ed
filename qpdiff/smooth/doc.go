// Package smooth has a learner that minimises a smooth objective of your own.
package smooth
