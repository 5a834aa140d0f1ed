# Lets a notebook's kernel find the module: run by the first cell, in the kernel's folder,
# with the notebook's folder in GONB_DIR.
[ -e go.work ] && exit
module=$(cd "$GONB_DIR" && GOWORK=off go env GOMOD)
if grep -qsx "module cvgm" "$module"; then
	GOWORK= go work init . "${module%/go.mod}"
else
	echo "this notebook runs only inside a checkout of the project: move it to notebooks/copies/ there, open it again and restart its kernel" >&2
fi
