/**
 * Opens the native library before the tests that use it. It stays open until the process ends, which the resource
 * sanitizer would take for a leak of whichever test comes first. Every test file whose tests reach `ffi/` imports this
 * module; `deno task test` preloads it for the examples in the documentation.
 *
 * @module
 */

import { native } from "../ffi/library.ts";

native();
