import type { Vouch } from "../mod.ts";
import { UsageError } from "./exit_codes.ts";

/** What the help says of `--vouch`. */
export const VOUCH_HELP: string =
  "you know what a medium is that this machine cannot tell: optane-200, or fsdax=optane-200 " +
  "for one configuration; recorded as the owner's word; may be repeated";

/** `optane-200`, `fsdax=optane-200`: the word of the machine's owner beside those before it. */
export function vouched(text: string, before: readonly Vouch[] = []): Vouch[] {
  const [, configuration, medium] = /^(?:([^=\s]+)=)?([^=\s]+)$/.exec(text) ?? [];
  if (medium === undefined) {
    throw new UsageError(`Cannot vouch for "${text}": expected a medium, such as optane-200, or fsdax=optane-200`);
  }
  return [...before, { medium, ...(configuration === undefined ? {} : { configuration }) }];
}
