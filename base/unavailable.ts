/**
 * The error of what is not on this machine.
 *
 * @module
 */

/** What was asked for cannot be had here: configurations that cannot run as required, an MPI that is not installed. */
export class UnavailableError extends Error {
  /** The error. @param message What is missing and what to do; one line for each configuration. */
  constructor(message: string) {
    super(message);
    this.name = "UnavailableError";
  }
}
