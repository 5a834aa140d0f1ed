// Package live lets a reader vary the parameters of the experiments in
// JupyterLab and watch the gradient method learn.
//
// A [Machine] holds all that can be done and seen: settings, the states that the
// method went through, what is shown of them. It uses neither clock nor
// browser. [Machine.Draw] draws it as SVG; [Show] connects it to the pages that
// show its cell, and keeps its state for the next time; [Strip] is what a notebook
// shows where there is no such page.
package live
