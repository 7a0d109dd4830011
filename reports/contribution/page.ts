/**
 * A contribution as one file: a report's page with its records and the checklist. As every report it carries a SHA-256
 * of each part, so that a damaged file is noticed and the damage has a name. The form is described in docs/formats.md.
 *
 * @module
 */

import type { Contribution } from "../../scenarios/contribution/record.ts";
import { html, scriptJson } from "../text/markup.ts";
import { renderPage, type ReportOptions } from "../html/render.ts";
import { contributionSection } from "./section.ts";

/**
 * Renders a contribution as one self-contained HTML page, which `parsePage` reads back.
 *
 * @param contribution What is sent.
 * @returns The page.
 * @throws {RangeError} A number of the result cannot be reported.
 */
export function renderContribution(contribution: Contribution, options: ReportOptions = {}): string {
  const { result, ...told } = contribution;
  const data = scriptJson({ format: 2, ...told });
  return renderPage(result, options, {
    section: contributionSection(contribution),
    data: html`
      <script type="application/json" id="contribution">${data}</script>
    `,
  });
}
