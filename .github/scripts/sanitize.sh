#!/usr/bin/env bash
# Runs the C tests under sanitizers: those of SANITIZERS, or address, undefined and thread; and the tests of the boundary to
# Deno with the library that address and undefined are built into. docs/decisions.md says why not thread.
set -euo pipefail
make -C native sanitize
for sanitizer in ${SANITIZERS:-address undefined thread}; do
  if [ "$sanitizer" = thread ]; then continue; fi
  make -s -C native all BUILD="build/$sanitizer" SANITIZE="$sanitizer" CFLAGS="-O1 -g"
  preload=
  if [ "$sanitizer" = address ]; then preload=$(readlink -f "$(cc -print-file-name=libasan.so)"); fi
  # Deno's own allocations live until the process ends, and its engine handles SIGSEGV itself.
  env LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0:handle_segv=0:allow_user_segv_handler=1 \
    UBSAN_OPTIONS=print_stacktrace=1 TIERBENCH_LIBRARY="$PWD/native/build/$sanitizer/libtierstore.so" \
    npx -y deno@2.9.6 test -A --no-check --ignore=test/ffi/library_test.ts test/ffi < /dev/null
done
