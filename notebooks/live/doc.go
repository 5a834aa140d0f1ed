// Package live lets a reader change the parameters of the experiments in JupyterLab and watch the
// gradient method learn.
//
// A [Machine] holds the whole state: the settings, the steps of the method so far, and the visible
// part of them. It uses neither clock nor browser. [Machine.Draw] draws it as SVG. [Show] connects
// it to the pages that show its cell, and keeps its state for the next time. A notebook without
// such a page shows a [Strip].
package live
