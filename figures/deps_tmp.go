package figures
import _ "gonum.org/v1/plot"
