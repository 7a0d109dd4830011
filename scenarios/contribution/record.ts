/**
 * What an owner of PMEM or CXL hardware sends, as it is written and read.
 *
 * @module
 */

import type { Result } from "../record.ts";

/** One thing that was looked at. */
export interface ChecklistItem {
  /** Short name, stable. */
  readonly id: string;
  /** What was looked at. */
  readonly title: string;
  /** `ok`: as a measurement wishes it. `not ok`: the figures suffer or are worth less. `unknown`: not readable. */
  readonly status: "ok" | "not ok" | "unknown";
  /** What was found. */
  readonly found: string;
  /** What to do; absent if nothing. */
  readonly next?: string;
}

/** A question to the owner. */
export interface Question {
  /** What an answer is given under. */
  readonly id: string;
  /** What the owner is asked. */
  readonly question: string;
}

/** A question and what the owner said, if anything. */
export interface Answered extends Question {
  /** What the owner said; absent: nothing. */
  readonly answer?: string;
}

/** Something that was taken out: where, and what it was; never its value. */
export interface Removed {
  /** Place in the record, e.g. `run.machine.facts.cxl.mem0.serial`. */
  readonly where: string;
  /** Such as `serial number`. */
  readonly what: string;
}

/** What is sent. */
export interface Contribution {
  /** The result, without what is private. */
  readonly result: Result;
  /** What the program checked. */
  readonly checklist: readonly ChecklistItem[];
  /** What only the owner can say. */
  readonly questions: readonly Answered[];
  /** Remarks of the owner. */
  readonly notes: readonly string[];
  /** Where something was taken out. */
  readonly removed: readonly Removed[];
}
