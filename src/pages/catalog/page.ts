// What all pages of the exported catalog share: the frame, the list of versions as a table, and single facts.
import type { CatalogDocument, CatalogImage, CatalogVersion } from '../../domain/public-catalog/catalog.ts';
import { type Html, html } from '../html.ts';

/** A version with its image, as lists show it. */
export interface ListedVersion extends CatalogVersion {
  readonly image: Pick<CatalogImage, 'name' | 'os' | 'architecture' | 'simulated'>;
}

export interface Frame {
  readonly document: CatalogDocument;
  readonly title: string;
  /** The way from this page to the top folder: empty, or `../` some times. */
  readonly root: string;
  /** The page of the navigation that this one is; absent on pages below them. */
  readonly current?: string;
}

const navigation = [
  ['index.html', 'By Kubernetes'],
  ['systems.html', 'By system'],
  ['regions.html', 'By region'],
] as const;

export function page({ document, title, root, current }: Frame, main: Html): string {
  const links = navigation.map(([file, name]) =>
    file === current
      ? html`<li><a href="${root}${file}" aria-current="page">${name}</a></li>`
      : html`<li><a href="${root}${file}">${name}</a></li>`,
  );
  return `${
    html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="generator" content="Imago">
<title>${title === document.title ? title : `${title} · ${document.title}`}</title>
<link rel="stylesheet" href="${root}style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="name" href="${root}index.html">${document.title}</a>
<nav aria-label="Catalogue"><ul>${links}</ul></nav>
</header>
<main id="main">
${main}
</main>
<footer>
<p>Made by Imago on ${day(document.generatedAt)}. For programs: <a href="${root}catalog.json">catalog.json</a>.</p>
</footer>
</body>
</html>
`.html
  }`;
}

export function versionsTable(versions: readonly ListedVersion[], root: string, caption: string): Html {
  const cells = ({ image, ...version }: ListedVersion) => html`<tr>
<th scope="row"><a href="${root}${versionPath(image.name, version.version)}">${image.name} ${version.version}</a></th>
<td data-label="Kubernetes">${version.kubernetes ?? 'none'}</td>
<td data-label="System">${system(image)}</td>
<td data-label="State"><span class="tags">${stateTag(version)}${simulatedTag(image)}${version.channels.map((name) => html`<span class="tag">${name}</span>`)}</span></td>
<td data-label="Supported until">${supportText(version)}</td>
<td data-label="Regions">${regionsText(version)}</td>
<td data-label="Made">${day(version.createdAt)}</td>
</tr>
`;
  return html`<table class="cards">
<caption>${caption}</caption>
<thead><tr><th scope="col">Version</th><th scope="col">Kubernetes</th><th scope="col">System</th><th scope="col">State and channels</th><th scope="col">Supported until</th><th scope="col">Regions</th><th scope="col">Made</th></tr></thead>
<tbody>
${versions.map(cells)}</tbody>
</table>`;
}

export function versionPath(image: string, version: string): string {
  return `images/${image}/${version}/index.html`;
}

export function system({ os, architecture }: Pick<CatalogImage, 'os' | 'architecture'>): string {
  return `${os === 'linux' ? 'Linux' : 'Windows'} ${architecture}`;
}

export function stateTag({ state }: Pick<CatalogVersion, 'state'>): Html {
  const looks = { available: 'good', deprecated: 'warn', withdrawn: 'bad' } as const;
  return html`<span class="tag ${looks[state]}">${state}</span>`;
}

export function simulatedTag({ simulated }: Pick<CatalogImage, 'simulated'>): Html | undefined {
  return simulated && html`<span class="tag bad">simulated</span>`;
}

export function supportText({ support }: Pick<CatalogVersion, 'support'>): string {
  if (support === undefined) return 'no date set';
  return support.phase === 'ended' ? `ended ${support.endsOn}` : support.endsOn;
}

export function regionsOf({ places }: Pick<CatalogVersion, 'places'>): readonly string[] {
  return [...new Set(places.flatMap(({ regions }) => regions))].toSorted();
}

function regionsText(version: CatalogVersion): string {
  const regions = regionsOf(version);
  if (regions.length <= 2) return regions.join(', ') || 'none';
  return `${regions[0]} and ${regions.length - 1} more`;
}

export function day(time: string): string {
  return time.slice(0, 10);
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
