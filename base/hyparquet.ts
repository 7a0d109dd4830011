/**
 * hyparquet, named in full: programs in other folders import this suite without its import map. Of its inner parts only the
 * reader of page headers, so that pages can be checked before they are unpacked.
 *
 * @module
 */

export * from "npm:hyparquet@1.31.5";
export { parquetHeader } from "npm:hyparquet@1.31.5/src/column.js";
