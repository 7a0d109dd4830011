/**
 * Why there is no way to a configuration, on its way up to the planner, which returns it as a {@linkcode Refusal}.
 *
 * @module
 */

/** Thrown inside the planner only; never leaves it. */
export class Refused extends Error {
  override name = "Refused";
  /** What to do instead, where there is something. */
  readonly instead: string | undefined;

  /** One or two sentences why, and what to do. */
  constructor(reason: string, instead?: string) {
    super(reason);
    this.instead = instead;
  }
}
