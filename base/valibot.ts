/**
 * valibot, named in full: programs in other folders import this suite without its import map.
 *
 * @module
 */

export * from "npm:valibot@1.5.0";
