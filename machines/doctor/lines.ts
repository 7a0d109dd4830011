/**
 * Findings, as the doctor's sections make them.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";

/** One finding. */
export interface DoctorLine {
  /** What is looked at. */
  readonly label: string;
  /** What was found. */
  readonly text: string;
  /** `ok`: as wished. `note`: worth knowing. `warning`: spoils figures or keeps something away. */
  readonly level: "ok" | "note" | "warning";
  /** The command that comes next. */
  readonly next?: string;
}

/** Findings on one subject. */
export interface DoctorSection {
  /** The subject. */
  readonly title: string;
  /** Findings, most telling first. */
  readonly lines: readonly DoctorLine[];
}

/** A finding. */
export function line(label: string, text: string, level: DoctorLine["level"] = "ok", next?: string): DoctorLine {
  return { label, text, level, ...(next === undefined ? {} : { next }) };
}

/** `896 MiB`, or that it is not known. */
export function sizeText(bytes: number | undefined): string {
  return bytes === undefined ? "unknown size" : formatBytes(bytes);
}
