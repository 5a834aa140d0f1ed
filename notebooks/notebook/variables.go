package notebook

// StoreVar names the environment variable with the folder of stored results. Unset: .work/store in
// the folder of the module.
const StoreVar = "CVGM_STORE"

// RecordVar names the environment variable with the file for the record of a notebook. Lines of
// JSON are appended to the file: for each result that the notebook uses, at the start and the end
// of its computation, for overridden parameters, and for warnings. If the variable is unset,
// warnings are written to standard error, and the other lines are dropped.
const RecordVar = "CVGM_RECORD"

// TwinVar names an environment variable. If it is set, every Compute runs the twin of the
// experiment. The twin has the same parameters, with all floating-point parameters multiplied by 1
// + 2⁻⁴⁰. If digits of the outputs differ, rounding may change these digits. Rounding differs
// between processors.
const TwinVar = "CVGM_TWIN"

// OutVar names the environment variable with the folder for outputs. Under ./reproduce.sh it is a
// staging folder, which becomes figures/out/NAME after the notebook NAME has succeeded.
const OutVar = "CVGM_OUT"

// NotebookVar names the environment variable with the name of the notebook that ./reproduce.sh
// runs.
const NotebookVar = "CVGM_NOTEBOOK"

// ListVar names an environment variable. If it is set, each cell ends without an error at the first
// result that the store lacks. In place of computing the result, the cell appends the experiment's
// name, parameters and key to the file of RecordVar. ./reproduce.sh --on slurm sets the variable.
const ListVar = "CVGM_LIST"

// ParamsVar names the environment variable with the parameters to override. It is a JSON object of
// names and values, both as text. ./reproduce.sh sets it from -p.
const ParamsVar = "CVGM_PARAMS"

// ProgressVar names the environment variable with a progress file. ./reproduce.sh reads from it how
// many cells of the current experiment are done.
const ProgressVar = "CVGM_PROGRESS"
