package notebook

// StoreVar is the name of the environment variable that holds the folder of stored results. If the
// variable is unset, the folder is .work/store in the folder of the module.
const StoreVar = "CVGM_STORE"

// RecordVar is the name of the environment variable that holds the path of a file. This file is the
// record of a notebook. Lines of JSON are appended to it:
//
//   - for each result that the notebook uses,
//   - for the start and the end of the computation of a result,
//   - for overridden parameters,
//   - for warnings.
//
// If the variable is unset, warnings are written to standard error, and there are no other lines.
const RecordVar = "CVGM_RECORD"

// TwinVar is the name of an environment variable. If the variable is set, every Compute runs the
// twin of the experiment. All floating-point parameters of the twin are multiplied by 1 + 2⁻⁴⁰. If
// digits of the outputs differ from the original run, these digits depend on rounding, and may thus
// differ between processors.
const TwinVar = "CVGM_TWIN"

// OutVar is the name of the environment variable that holds the folder for outputs. Under
// ./reproduce.sh it is a staging folder, which becomes figures/out/NAME after the notebook NAME has
// succeeded.
const OutVar = "CVGM_OUT"

// NotebookVar is the name of the environment variable that holds the name of the notebook. It is
// set if ./reproduce.sh runs the notebook.
const NotebookVar = "CVGM_NOTEBOOK"

// ListVar is the name of an environment variable. If the variable is set, each cell ends without an
// error at the first result that is not in the store. The cell does not compute this result, but
// appends the experiment's name, parameters and key to the file of RecordVar. ./reproduce.sh --on
// slurm sets the variable.
const ListVar = "CVGM_LIST"

// ParamsVar is the name of the environment variable that holds the parameters to override. Its
// value is a JSON object of names and values, both as text. ./reproduce.sh sets the variable from
// -p.
const ParamsVar = "CVGM_PARAMS"

// ProgressVar is the name of the environment variable that holds the path of a progress file. The
// file has the number of finished cells of the current experiment, for ./reproduce.sh.
const ProgressVar = "CVGM_PROGRESS"
