// Package figures draws and tabulates the Results of package experiment.
package figures
