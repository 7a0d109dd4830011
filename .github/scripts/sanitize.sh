#!/usr/bin/env bash
# Runs the C tests under sanitizers: those of SANITIZERS, or address, undefined and thread; and the tests of the boundary to
# Deno with the library that each is built into, once it has caught seeded bugs there, too. What Deno itself does is left
# to Deno:
#   address  its allocations live until the process ends, and its engine handles SIGSEGV
#   thread   it is not instrumented: races are looked for in the library alone, and calls that it hands to another thread
#            are left out (docs/decisions.md)
set -euo pipefail
make -C native -j"$(nproc)" sanitize-build
make -C native sanitize
deno=$(npx -y deno@2.9.6 eval 'console.log(Deno.execPath())' < /dev/null)
for sanitizer in ${SANITIZERS:-address undefined thread}; do
  echo "$sanitizer sanitizer in Deno:"
  behind=(env "UBSAN_OPTIONS=print_stacktrace=1" "ASAN_OPTIONS=detect_leaks=0:handle_segv=0:allow_user_segv_handler=1"
    "TSAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1:ignore_noninstrumented_modules=1")
  tests=(--ignore=test/ffi/library_test.ts test/ffi)
  case $sanitizer in
    address) behind+=("LD_PRELOAD=$(readlink -f "$(cc -print-file-name=libasan.so)")") ;;
    thread)
      behind=(setarch -R "${behind[@]}" "LD_PRELOAD=$(readlink -f "$(cc -print-file-name=libtsan.so)")")
      tests=(test/ffi/{attack,bags,criteo,curve,store}_test.ts)
      ;;
  esac
  make -s -C native net-in-deno BUILD="build/$sanitizer" SANITIZE="$sanitizer" CFLAGS="-O1 -g" \
    RUN="${behind[*]} $deno run -A --no-check ../test/native/seeded_bugs.ts"
  "${behind[@]}" "TIERBENCH_LIBRARY=$PWD/native/build/$sanitizer/libtierstore.so" \
    "$deno" test -A --no-check "${tests[@]}" < /dev/null
done
