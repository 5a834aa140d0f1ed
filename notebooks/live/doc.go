// Package live shows the gradient method at work in JupyterLab. A reader changes the parameters of
// the experiments, and watches the method learn.
//
// A [Machine] holds the whole state: the settings, the computed steps of the method, and the
// visible step. It uses no clock and no browser. [Machine.Draw] draws the state as SVG. [Show]
// connects a Machine to the pages that show its cell, and stores the state of the Machine for the
// next start. If no page answers, the notebook shows a [Strip].
package live
