#!/usr/bin/env bash
# Everything that only a GPU can show, in one command of at most 8 minutes: builds the package in this checkout, then runs each part with a
# limit of its own, several at once; a part that fails doesn't keep the others from running. The results end in $OUT or the folder given.
#
#     tests/gpu/run.sh [FOLDER] [--standin]
#
# With --standin it is tried out without a GPU, over NumPy.
#
# Needs CUDA, cuDNN, PyTorch, CuPy, NumPy, Cython, setuptools, ml_dtypes and a C compiler; no network. What else is missing is installed from wheels
# in .wheels/ (scipy-openblas64, nvidia-cudnn-frontend 1.17 to 1.26, which need nothing else).
set -uo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-${OUT:-$root/gpu_results}}
standin=${2:-}
[ -z "$standin" ] || export PYX_TENSOR_STANDIN=1
python=${PYTHON:-python3}
mkdir -p "$out"
cd "$root"
export PYTHONPATH=$root:$root/backends OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 PYTHONUNBUFFERED=1
limit=450      # seconds for all of it

left() { echo $((limit - SECONDS)); }
say() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo 'no nvidia-smi')"
if compgen -G "$root/.wheels/*.whl" > /dev/null; then
    "$python" -m pip install -q --no-index --no-deps --target "$out/site" "$root"/.wheels/*.whl && export PYTHONPATH=$PYTHONPATH:$out/site
fi
say "build"
"$python" setup.py -q build_ext --inplace > "$out/build.log" 2>&1 || { tail -n 40 "$out/build.log"; exit 1; }
"$python" -c 'import pyx_tensor as t; print(t.__version__)' || exit 1

names=() jobs=() failed=()
part() {  # name, seconds, command…: begins a part in the background
    if [ "$(left)" -lt 10 ]; then
        failed+=("$1: no time was left")
        return
    fi
    names+=("$1")
    timeout "$(($2 < $(left) ? $2 : $(left)))" "${@:3}" > "$out/$1.log" 2>&1 &
    jobs+=($!)
}
finish() {  # waits for the parts begun, and shows how each ended
    for i in "${!jobs[@]}"; do
        wait "${jobs[$i]}" || failed+=("${names[$i]}")
        grep -E '^(FAILED|==|\||   [a-z])' "$out/${names[$i]}.log" | tail -n 45
    done
    names=() jobs=()
    say "so far"
}

part runtime 150 "$python" tests/gpu/runtime.py $standin
finish
part speed 150 "$python" tests/gpu/speed.py --seconds 120 $standin
finish
part cudnn 200 "$python" tests/gpu/by_cudnn.py --seconds 180 $standin
part kit 200 "$python" tests/gpu/kit.py --seconds 180 $standin
part programs 200 "$python" tests/gpu/programs.py --seconds 180 $standin
part operations 220 "$python" tests/gpu/operations.py --seconds 200 $standin
part gradients 220 "$python" tests/gpu/gradients.py --seconds 200 $standin
PYTHONPATH=$PYTHONPATH:$root/tests/gpu part database 220 "$python" tests/oracle/conformance/run.py --module on_cuda --suite ops --max-samples 3 --jobs 8 \
    --mem-gb 0 --list-fail --out "$out/database.json"
finish
[ -e "$out/database.log" ] && tail -n 3 "$out/database.log"

say "end"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "all parts passed"
