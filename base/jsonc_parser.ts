/**
 * jsonc-parser, named in full: programs in other folders import this suite without its import map.
 *
 * @module
 */

export * from "npm:jsonc-parser@3.3.1";
