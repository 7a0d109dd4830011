/**
 * What the published figures of rows in a GPU's memory tell, and what they do not.
 *
 * @module
 */

import { NULL_NAMES, NULL_WORDS, type NullName } from "../simulation/record.ts";
import type { OpenTarget } from "./open_targets.ts";

/** Names in a sentence: `a, b and c`. */
function listed(names: readonly NullName[]): string {
  const words = names.map((name) => NULL_WORDS[name]), last = words.pop() ?? "none";
  return words.length === 0 ? last : `${words.join(", ")} and ${last}`;
}

/** Of figures that set no parameter, which null models meet them, too: alone, and all of a source together. */
export function nullsText(targets: readonly OpenTarget[]): string {
  const figures = targets.flatMap(({ name, figures }) =>
    figures.flatMap(({ figure, nulls }) => nulls === undefined ? [] : [{ name, figure, nulls }])
  );
  const modelsThat = (nulls: (typeof figures)[number]["nulls"], meet: boolean) =>
    NULL_NAMES.filter((name) => nulls[name] === meet);
  const reproduced = figures.filter(({ nulls }) => modelsThat(nulls, true).length === 0).length;
  const together = targets.map(({ name }) => {
    const own = figures.filter((one) => one.name === name);
    const concern = NULL_NAMES.filter((model) => own.some(({ nulls }) => nulls[model] !== undefined));
    const all = concern.filter((model) => own.every(({ nulls }) => nulls[model] ?? true));
    return `- ${name}, its ${own.length} figures together: ` +
      (all.length === 0 ? `each null model misses one at least` : `met with ${listed(all)}, too`);
  });
  return `A figure is called reproduced where no null model that concerns it meets it, too. Of the ${figures.length} figures
of O15 and O16 that set no parameter ${reproduced} are. GPU media and PCIe links have no bands, and none can be
stated from what is published of them: a band is made of figures that were left out and foretold, at least ten, and
of these media there are none. Each of their numbers is a specification (capacity, peak bandwidth), was measured on
another device (a V100's cycles of a load) or alone and so sets what it would test (the share of the peak that
coalesced loads reach), or is assumed (a link's latency, how sharp a limit is). Their files in \`models/media/\` say
which.

${
    figures.map(({ name, figure, nulls }) =>
      `- ${name}, ${figure}: met with ${listed(modelsThat(nulls, true))}; missed with ${
        listed(modelsThat(nulls, false))
      }`
    ).join("\n")
  }
${together.join("\n")}`;
}
