import { UsageError } from "./exit_codes.ts";

/** Explains `--set` in helps. */
export const SET_HELP = "another value of a field than the file's; may be repeated";

/** `workload.batch=64` beside those before it; the value is JSON where it reads as that, else text. */
export function setField(text: string, before: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const [, name, value] = /^([^=\s]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(`Cannot set "${text}": expected field=value, such as workload.batch=64`);
  }
  try {
    return { ...before, [name]: JSON.parse(value) };
  } catch {
    return { ...before, [name]: value };
  }
}
