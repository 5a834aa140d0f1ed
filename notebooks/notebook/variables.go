package notebook

// StoreVar names the environment variable with the folder in which results are kept. Unset:
// .work/store in the module's folder.
const StoreVar = "CVGM_STORE"

// RecordVar names the environment variable with a file for a notebook's record. The file gets lines
// of JSON: for each result that the notebook used, at the start and the end of its computation, for
// overridden parameters, and for warnings. If the variable is unset, warnings go to standard error,
// and the other lines are dropped.
const RecordVar = "CVGM_RECORD"

// TwinVar names the environment variable that, if set, makes every Compute run the experiment's
// twin. The twin has the same parameters, with all real ones multiplied by 1 + 2⁻⁴⁰. The digits in
// which its outputs differ are the digits that rounding may change. Rounding is not the same on all
// processors.
const TwinVar = "CVGM_TWIN"

// OutVar names the environment variable with the folder for outputs. Under ./reproduce.sh it is a
// staging folder. It becomes figures/out/NAME once the notebook NAME has succeeded.
const OutVar = "CVGM_OUT"

// NotebookVar names the environment variable with the name of the notebook that
// ./reproduce.sh runs.
const NotebookVar = "CVGM_NOTEBOOK"

// ListVar names an environment variable. If it is set, each cell ends at the first result that the
// store lacks, without an error. The cell adds the experiment's name, parameters and key to the
// file of RecordVar instead of computing the result. ./reproduce.sh --on slurm sets the variable.
const ListVar = "CVGM_LIST"

// ParamsVar names the environment variable with the parameters to override: a JSON object of names
// and values, both as text. ./reproduce.sh sets it from -p.
const ParamsVar = "CVGM_PARAMS"

// ProgressVar names the environment variable with a progress file. ./reproduce.sh reads in it how
// many cells of the current experiment are done.
const ProgressVar = "CVGM_PROGRESS"
