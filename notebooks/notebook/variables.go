package notebook

// StoreVar names the environment variable with the folder of stored results. Unset: .work/store in
// the folder of the module.
const StoreVar = "CVGM_STORE"

// RecordVar names the environment variable with the file for the record of a notebook. Lines of
// JSON are appended to this file:
//
//   - for each result that the notebook uses,
//   - for the start and the end of the computation of a result,
//   - for overridden parameters,
//   - for warnings.
//
// If the variable is unset, warnings are written to standard error, and there are no other lines.
const RecordVar = "CVGM_RECORD"

// TwinVar names an environment variable. If it is set, every Compute runs the twin of the
// experiment. All floating-point parameters of the twin are multiplied by 1 + 2⁻⁴⁰. Digits of the
// outputs that differ from the original run depend on rounding, and may thus differ between
// processors.
const TwinVar = "CVGM_TWIN"

// OutVar names the environment variable with the folder for outputs. Under ./reproduce.sh it is a
// staging folder, which becomes figures/out/NAME after the notebook NAME has succeeded.
const OutVar = "CVGM_OUT"

// NotebookVar names the environment variable with the name of the notebook that ./reproduce.sh
// runs.
const NotebookVar = "CVGM_NOTEBOOK"

// ListVar names an environment variable. If it is set, each cell ends without an error at the first
// result that is not in the store. The cell does not compute this result, but appends the
// experiment's name, parameters and key to the file of RecordVar. ./reproduce.sh --on slurm sets
// the variable.
const ListVar = "CVGM_LIST"

// ParamsVar names the environment variable with the parameters to override. It is a JSON object of
// names and values, both as text. ./reproduce.sh sets it from -p.
const ParamsVar = "CVGM_PARAMS"

// ProgressVar names the environment variable with a progress file. The file has the number of
// finished cells of the current experiment, for ./reproduce.sh.
const ProgressVar = "CVGM_PROGRESS"
