/**
 * What every page of ours begins with: one file that allows its own style and script by hash and nothing else, so that it
 * cannot fetch anything.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { SEALED_MARK } from "../capsule/seal.ts";
import { html, type Markup } from "../text/markup.ts";

/** What a page's head is made of. */
interface PageHead {
  /** Title of the window. */
  readonly title: string;
  /** Its style sheet. */
  readonly style: Markup;
  /** Its script; absent: none may run. */
  readonly script?: Markup;
  /** Of a page that is sealed: the version of tierbench that made its figures. */
  readonly sealedBy?: string;
}

/** The head of a page. */
export function pageHead({ title, style, script, sealedBy }: PageHead): Markup {
  const policy = [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`]),
    `style-src ${hashOf(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const sealed = sealedBy === undefined ? undefined : html`
    <meta name="generator" content="tierbench ${sealedBy}">
    ${SEALED_MARK}
  `;
  return html`
    <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="${policy}">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">${sealed}
      <title>${title}</title>
      <link rel="icon" href="data:,">
      <style>${style}</style>
    </head>
  `;
}

function hashOf(inline: Markup): string {
  return `'sha256-${createHash("sha256").update(inline.text).digest("base64")}'`;
}
