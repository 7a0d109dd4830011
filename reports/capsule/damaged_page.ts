import { shownLine } from "../../base/shown.ts";

/** A page that cannot be read, or not as a whole. */
export class DamagedPageError extends Error {
  /** The part that is damaged, as the message names it. */
  readonly part: string;

  /** The error. @param part Its name. @param found What is wrong with it. */
  constructor(name: string, part: string, found: string) {
    super(
      `Cannot read the report in "${shownLine(name)}": ${shownLine(part)} ${
        shownLine(found)
      }; ask for the file again, or make it again`,
    );
    this.name = "DamagedPageError";
    this.part = part;
  }
}
