package notebook

// StoreVar is the name of the environment variable that holds the folder of stored results. If the
// variable is unset, the folder is .work/store in the folder of the module.
const StoreVar = "CVGM_STORE"

// RecordVar is the name of the environment variable that holds the path of the notebook's record.
// The record is a file. The notebook appends lines of JSON to it:
//
//   - for each result that the notebook uses,
//   - for the start and the end of the computation of a result,
//   - for overridden parameters,
//   - for warnings.
//
// If the variable is unset, warnings are written to standard error, and no other lines are written.
const RecordVar = "CVGM_RECORD"

// TwinVar is the name of an environment variable. If the variable is set, every Compute runs the
// twin of its experiment. In the twin, all floating-point parameters are multiplied by 1 + 2⁻⁴⁰. If
// digits of the outputs differ between the twin and the original run, these digits depend on
// rounding. They may thus differ between processors.
const TwinVar = "CVGM_TWIN"

// OutVar is the name of the environment variable that holds the folder for outputs. Under
// ./reproduce.sh this folder is a staging folder. After the notebook NAME has succeeded, the
// staging folder becomes figures/out/NAME.
const OutVar = "CVGM_OUT"

// NotebookVar is the name of the environment variable that holds the name of the notebook. The
// variable is set if ./reproduce.sh runs the notebook.
const NotebookVar = "CVGM_NOTEBOOK"

// ListVar is the name of an environment variable. If the variable is set, each cell ends without an
// error at the first result that is not in the store. The cell does not compute this result.
// Instead, it appends the experiment's name, parameters and key to the file of RecordVar.
// ./reproduce.sh --on slurm sets the variable.
const ListVar = "CVGM_LIST"

// ParamsVar is the name of the environment variable that holds the parameters to be changed. Its
// value is a JSON object that maps names to values, which are texts. ./reproduce.sh sets the
// variable from -p.
const ParamsVar = "CVGM_PARAMS"

// ProgressVar is the name of the environment variable that holds the path of a progress file. In
// this file, ./reproduce.sh reads the number of finished cells of the current experiment.
const ProgressVar = "CVGM_PROGRESS"
