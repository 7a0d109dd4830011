/**
 * The assertions of the tests, with types: the npm package of the standard library has none.
 *
 * @module
 */

// @ts-types="./assert.d.ts"
export * from "@std/assert";
