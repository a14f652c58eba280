// CycloneDX: vulnerabilities, and what their analysis (VEX) says of them.

import { type Finding, type FindingLevel, findingLevels, type ScanReport } from '../finding.ts';
import { isList, type Loose, object, objects, text } from './loose.ts';

/** Analyses by which a vulnerability does not matter here. */
const dismissing: ReadonlySet<unknown> = new Set([
  'resolved',
  'resolved_with_pedigree',
  'false_positive',
  'not_affected',
]);

/** `undefined` without a list of vulnerabilities: a plain SBOM says nothing about what was looked for. */
export function readCycloneDx(document: Loose): ScanReport | undefined {
  if (!isList(document.vulnerabilities)) return undefined;
  const all = objects(document.vulnerabilities);
  if (all.length !== document.vulnerabilities.length) return undefined;
  const open = all.filter(({ analysis }) => !dismissing.has(object(analysis).state));
  const metadata = object(document.metadata);
  const { name, version } = toolOf(metadata);
  return {
    format: 'cyclonedx',
    tool: name,
    ...(version === undefined ? {} : { toolVersion: version }),
    findings: open.map(findingOf),
    dismissed: all.length - open.length,
    subjects: objects(object(metadata.component).hashes)
      .filter(({ alg }) => alg === 'SHA-256')
      .flatMap(({ content }) => text(content)?.toLowerCase() ?? []),
  };
}

/** Tools are a list in old versions of the format, and components in newer ones. */
function toolOf(metadata: Loose): { readonly name: string; readonly version?: string } {
  const tools = isList(metadata.tools) ? objects(metadata.tools) : objects(object(metadata.tools).components);
  const [first = {}] = tools;
  const version = text(first.version);
  return { name: text(first.name) ?? 'cyclonedx', ...(version === undefined ? {} : { version }) };
}

function findingOf(found: Loose): Finding {
  const level = worst(objects(found.ratings));
  const where = objects(found.affects)
    .flatMap(({ ref }) => text(ref) ?? [])
    .join(' ');
  return {
    id: text(found.id) ?? 'unnamed',
    ...(level === undefined ? {} : { level }),
    ...(where === '' ? {} : { where }),
  };
}

const harmless: ReadonlySet<unknown> = new Set(['info', 'none']);

/** The worst of all ratings; `info` and `none` count as low. */
function worst(ratings: readonly Loose[]): FindingLevel | undefined {
  const names: readonly unknown[] = findingLevels;
  const given = ratings.map(({ severity }) => (harmless.has(severity) ? 0 : names.indexOf(severity)));
  return findingLevels[Math.max(-1, ...given)];
}
