// The page of one version: whether to use it, what to paste, what it is by its digests, and its notes.

import type { CatalogDocument, CatalogPlace } from '../../domain/public-catalog/catalog.ts';
import { referenceTools } from '../../domain/public-catalog/references.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { type Html, html } from '../html.ts';
import { markdownToHtml } from '../markdown.ts';
import { day, type ListedVersion, page, simulatedTag, stateTag, supportText, system } from './page.ts';

/** Files beside a version's page. */
export const recordFiles = {
  'notes-markdown': { file: 'notes.md', what: 'Release notes (Markdown)' },
  cyclonedx: { file: 'sbom.cdx.json', what: 'Bill of materials (CycloneDX)' },
  spdx: { file: 'sbom.spdx.json', what: 'Bill of materials (SPDX)' },
  provenance: { file: 'provenance.json', what: 'Provenance (in-toto)' },
} as const;
export type RecordFile = keyof typeof recordFiles;

/** The records that a version has, as they were made. */
export type RecordTexts = Partial<Readonly<Record<RecordFile, string>>>;

const root = '../../../';

export function versionPage(document: CatalogDocument, version: ListedVersion, records: RecordTexts): string {
  const { image } = version;
  const title = `${image.name} ${version.version}`;
  const notes = records['notes-markdown'];
  const files = Object.entries(recordFiles).filter(([kind]) => records[kind as RecordFile] !== undefined);
  return page(
    { document, title, root },
    html`<h1>${title}</h1>
<p class="tags">${stateTag(version)}${simulatedTag(image)}${version.channels.map((name) => html`<span class="tag">${name}</span>`)}</p>
${warning(version)}
<dl>
<dt>Kubernetes</dt><dd>${version.kubernetes ?? 'none'}</dd>
<dt>System</dt><dd>${system(image)}</dd>
<dt>Supported until</dt><dd>${supportText(version)}${version.support && ` (${version.support.by})`}</dd>
<dt>Made</dt><dd>${day(version.createdAt)}</dd>
<dt>Disk</dt><dd>${formatBytes(version.sizeBytes)}</dd>
<dt>Digest</dt><dd><code>${version.digest}</code></dd>
<dt>sha256 of the disk</dt><dd><code>${version.diskDigest}</code></dd>
</dl>
${places(version)}
${
  files.length === 0
    ? undefined
    : html`<h2>Files</h2>
<ul class="files">${files.map(([, { file, what }]) => html`<li><a href="${file}">${what}</a></li>`)}</ul>
`
}${notes === undefined ? undefined : html`<div class="notes">${markdownToHtml(notes)}</div>`}`,
  );
}

function warning({ state, reason, support }: ListedVersion): Html | undefined {
  if (state === 'withdrawn') {
    return html`<p class="note bad"><strong>Withdrawn: do not use it.</strong> ${reason ?? ''} Replace the machines that run it by an available version.</p>`;
  }
  if (state === 'deprecated' || support?.phase === 'ended') {
    return html`<p class="note warn"><strong>Deprecated.</strong> ${reason ?? ''} Choose a newer version for new machines.</p>`;
  }
  if (support?.phase === 'ending') {
    return html`<p class="note warn"><strong>Support ends on ${support.endsOn}.</strong> Plan the move to a newer version.</p>`;
  }
  return undefined;
}

function places({ state, image, digest, places: found }: ListedVersion): Html | undefined {
  if (state === 'withdrawn') return undefined;
  return html`<h2>Use it</h2>
<h3>Imago</h3>
<pre tabindex="0">${image.name}@${digest}</pre>
${found.map((place) => placeSection(place))}`;
}

function placeSection({ gallery, regions, references }: CatalogPlace): Html {
  const where = regions.length === 0 ? '' : ` in ${regions.join(', ')}`;
  return html`<h3>Gallery ${gallery}</h3>
<p class="meta">Ready${where}.</p>
${
  references.length === 0
    ? undefined
    : html`<div class="references">${references.map(
        ({ tool, text }) => html`<div><h4>${referenceTools[tool]}</h4>
<pre tabindex="0" aria-label="${referenceTools[tool]}">${text}</pre></div>
`,
      )}</div>`
}`;
}
