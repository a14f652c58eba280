// The exported catalog as files: pages for people that need no script and no account, and one JSON document for
// programs. The same document always makes the same files.
import type { CatalogDocument, CatalogVersion } from '../../domain/public-catalog/catalog.ts';
import { compareLoosely } from '../../domain/value/loose-version.ts';
import { type Html, html } from '../html.ts';
import {
  count,
  type Frame,
  type ListedVersion,
  page,
  regionsOf,
  system,
  versionPath,
  versionsTable,
} from './page.ts';
import { catalogStyle } from './style.ts';
import { type RecordTexts, versionPage } from './version.ts';

export interface CatalogFile {
  /** Below the folder, with `/` between its parts. */
  readonly path: string;
  readonly text: string;
}

/** Everything but the pages of single versions, which are made one by one with their records. */
export function catalogFrontPages(document: CatalogDocument): readonly CatalogFile[] {
  const listed = listVersions(document);
  const frame = (title: string, current: string): Frame => ({ document, title, root: '', current });
  return [
    { path: 'catalog.json', text: `${JSON.stringify(document, null, 2)}\n` },
    { path: 'style.css', text: catalogStyle },
    { path: 'index.html', text: page(frame(document.title, 'index.html'), byKubernetes(listed)) },
    { path: 'systems.html', text: page(frame('By system', 'systems.html'), bySystem(listed)) },
    { path: 'regions.html', text: page(frame('By region', 'regions.html'), byRegion(listed)) },
  ];
}

export function listVersions({ images }: CatalogDocument): readonly ListedVersion[] {
  return images.flatMap((image) => image.versions.map((version) => ({ ...version, image })));
}

/** The page of a version, with links to those of its records that there are. */
export function catalogVersionPage(
  document: CatalogDocument,
  version: ListedVersion,
  records: RecordTexts,
): CatalogFile {
  return {
    path: versionPath(version.image.name, version.version),
    text: versionPage(document, version, records),
  };
}

function byKubernetes(listed: readonly ListedVersion[]): Html {
  const usable = listed.filter(({ state }) => state !== 'withdrawn');
  const groups = grouped(usable, ({ kubernetes }) => [minorOf(kubernetes)]);
  const lines = [...groups].toSorted(([a], [b]) => compareLoosely(b, a));
  const withdrawn = listed.filter(({ state }) => state === 'withdrawn');
  return html`<h1>Available versions</h1>
<p class="lead">${usable.length === 0 ? 'No version is available yet.' : html`${count(usable.length, 'version')} of ${count(new Set(usable.map(({ image }) => image.name)).size, 'image')} can be used, tested as they are. Each page gives the digests and what to paste into your tool.`}</p>
${lines.map(
  ([minor, versions]) => html`<section aria-labelledby="k${minor}">
<h2 id="k${minor}">${minor === '' ? 'Without Kubernetes' : `Kubernetes ${minor}`}</h2>
${versionsTable(versions, '', supportCaption(versions))}
</section>
`,
)}${
  withdrawn.length === 0
    ? undefined
    : html`<section aria-labelledby="withdrawn">
<h2 id="withdrawn">Withdrawn</h2>
<p>Do not use these. If you run one, its page says why, and what to do.</p>
${versionsTable(withdrawn, '', count(withdrawn.length, 'version'))}
</section>`
}`;
}

function supportCaption(versions: readonly ListedVersion[]): string {
  const ends = versions.map(({ support }) => support?.endsOn).filter((end) => end !== undefined);
  const last = ends.toSorted().at(-1);
  return last === undefined
    ? count(versions.length, 'version')
    : `${count(versions.length, 'version')}, supported until ${last} at the latest`;
}

function bySystem(listed: readonly ListedVersion[]): Html {
  const usable = listed.filter(({ state }) => state !== 'withdrawn');
  const groups = [...grouped(usable, ({ image }) => [system(image)])].toSorted(([a], [b]) =>
    compareText(a, b),
  );
  return html`<h1>By system</h1>
${groups.length === 0 ? html`<p class="lead">No version is available yet.</p>` : undefined}
${groups.map(
  ([name, versions], index) => html`<section aria-labelledby="s${index}">
<h2 id="s${index}">${name}</h2>
${versionsTable(versions, '', count(versions.length, 'version'))}
</section>
`,
)}`;
}

function byRegion(listed: readonly ListedVersion[]): Html {
  const usable = listed.filter(({ state }) => state !== 'withdrawn');
  const groups = [...grouped(usable, regionsOf)].toSorted(([a], [b]) => compareText(a, b));
  return html`<h1>By region</h1>
${groups.length === 0 ? html`<p class="lead">No version has a copy in a region.</p>` : html`<p class="lead">Copies that are whole. A version can be started only where it is listed.</p>`}
${groups.map(
  ([name, versions], index) => html`<section aria-labelledby="r${index}">
<h2 id="r${index}">${name}</h2>
${versionsTable(versions, '', count(versions.length, 'version'))}
</section>
`,
)}`;
}

function grouped(
  versions: readonly ListedVersion[],
  keysOf: (version: ListedVersion) => readonly string[],
): ReadonlyMap<string, readonly ListedVersion[]> {
  const groups = new Map<string, ListedVersion[]>();
  for (const version of versions) {
    for (const key of keysOf(version)) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [version]);
      else group.push(version);
    }
  }
  return groups;
}

function minorOf(kubernetes: CatalogVersion['kubernetes']): string {
  return /^\d+[.]\d+/.exec(kubernetes ?? '')?.[0] ?? '';
}

/** Not by the reader's language: the same document makes the same files everywhere. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
