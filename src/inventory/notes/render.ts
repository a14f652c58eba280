// Release notes as Markdown.
import { formatBytes } from '../../domain/value/bytes.ts';
import { diffSections } from '../diff/format.ts';
import type { NotedBudget, NotedChanges, ReleaseNotes } from './release-notes.ts';

const maxFiles = 100;

export function renderReleaseNotes(notes: ReleaseNotes): string {
  return `${[
    `# ${notes.image} ${notes.version}`,
    ...(notes.text === undefined ? [] : [notes.text.trim()]),
    facts(notes),
    ...(notes.changes === undefined ? [] : [changes(notes.changes)]),
    ...section(
      'Hotfixes that are now on the image',
      notes.hotfixes,
      ({ name, version }) => `- ${name} ${version}`,
    ),
    ...table('Components', ['name', 'version', 'size', 'sha256'], notes.components, (item) => [
      item.name,
      item.version,
      formatBytes(item.sizeBytes),
      code(item.sha256),
    ]),
    ...table('Container images on the disk', ['name', 'size', 'digest'], notes.containerImages, (image) => [
      image.name,
      formatBytes(image.sizeBytes),
      code(image.digest),
    ]),
    ...windows(notes),
    ...table('Budgets', ['what', 'limit', 'actual', ''], notes.budgets, (budget) => [
      budget.name,
      measure(budget, budget.limit),
      budget.actual === undefined ? 'not measured' : measure(budget, budget.actual),
      budget.isKept === false ? '**exceeded**' : '',
    ]),
    ...section('What the tests let pass, as the recipe says', notes.expected ?? [], (what) => `- ${what}`),
    ...table('Timings', ['step', 'seconds'], notes.timings, ({ step, ms }) => [step, (ms / 1000).toFixed(1)]),
    ...section('Units that start automatically', notes.enabledUnits, (name) => `- ${name}`),
    ...table('Packages', ['name', 'version', 'architecture', 'size', 'sha256'], notes.packages, (item) => [
      item.name,
      item.version,
      item.architecture,
      formatBytes(item.installedBytes),
      code(item.sha256 ?? ''),
    ]),
  ].join('\n\n')}\n`;
}

function facts(notes: ReleaseNotes): string {
  const lines = [
    ['Digest', code(notes.digest)],
    ['Disk sha256', code(notes.diskSha256)],
    ['Created', notes.createdAt],
    ['System', notes.system],
    ['Content', notes.windows?.source === 'lock' ? 'as its lock says; the disk has no Windows to read' : ''],
    ['Build', buildOf(notes)],
    ['Sealed', notes.windows?.seal?.imageState ?? ''],
    ['Waits for a restart', notes.windows?.seal?.pending.join(', ') ?? ''],
    ['Time zone', notes.windows?.seal?.timeZone ?? ''],
    ['Base', notes.base ?? ''],
    ['Kernel', notes.kernel],
    ['Kernel arguments', notes.kernelArguments.length === 0 ? '' : code(notes.kernelArguments.join(' '))],
    ['Kubernetes', notes.kubernetes ?? ''],
    ['Disk', formatBytes(notes.sizes.diskBytes)],
    ['Used', formatBytes(notes.sizes.usedBytes)],
    ['Restricted', notes.restricted ? 'yes: it holds private inputs' : ''],
  ];
  return lines
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `- ${name}: ${value}`)
    .join('\n');
}

function changes({ since, reason, diff }: NotedChanges): string {
  const sections = diffSections(diff, { maxFiles });
  const parts = sections.map(({ title, lines }) => `### ${title}\n\n${fenced(lines)}`);
  const said = [
    ...(reason === undefined ? [] : [reason]),
    ...(sections.length === 0 ? ['Nothing on the disk differs.'] : []),
  ];
  return [`## Changes since ${since.version}`, ...said, ...parts].join('\n\n');
}

function buildOf({ windows: parts }: ReleaseNotes): string {
  if (parts?.version === undefined) return '';
  const { build, ubr, edition, display } = parts.version;
  return [`${build}${ubr === undefined ? '' : `.${ubr}`}`, edition, display].filter(Boolean).join(', ');
}

/** Every part says where on the disk it was read. */
const sources = {
  features: 'HKLM\\SOFTWARE\\Microsoft\\ServerManager\\ServicingStorage\\ServerComponentCache',
  packages:
    'HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing\\Packages, C:\\Windows\\servicing\\Packages',
  services: 'HKLM\\SYSTEM\\CurrentControlSet\\Services',
  programs: 'HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Uninstall',
  exclusions: 'HKLM\\SOFTWARE\\Microsoft\\Windows Defender\\Exclusions',
} as const;

function windows({ windows: parts }: ReleaseNotes): string[] {
  if (parts === undefined) return [];
  const from = (source: keyof typeof sources) =>
    parts.source === 'disk' ? ` (from ${sources[source]})` : '';
  const list = (title: string, items: readonly string[] = []) => section(title, items, (item) => `- ${item}`);
  return [
    ...list('Differences from the lock', parts.differences),
    ...list(`Features${from('features')}`, parts.features),
    ...list(`Capabilities${from('packages')}`, parts.capabilities),
    ...table(
      `Patches (QFE)${from('packages')}`,
      ['KB', 'class', 'sha256', 'kind', 'release', 'state', 'version', 'installed'],
      parts.patches,
      ({ kb, class: kind, sha256, ...read }) => [
        ...[kb, kind, code(sha256), read.kind ?? '', read.release ?? ''],
        ...[read.state ?? '', read.version ?? '', read.installedAt ?? ''],
      ],
    ),
    ...table(`Services${from('services')}`, ['name', 'start'], parts.services, ({ name, start }) => [
      name,
      start,
    ]),
    ...table(`Drivers${from('services')}`, ['name', 'start'], parts.drivers ?? [], ({ name, start }) => [
      name,
      start,
    ]),
    ...table(
      `Programs${from('programs')}`,
      ['name', 'version', 'publisher'],
      parts.programs ?? [],
      ({ name, version, publisher }) => [name, version, publisher],
    ),
    ...list(`Defender exclusions${from('exclusions')}`, parts.exclusions),
    ...table('Cached files', ['name', 'version', 'size', 'sha256'], parts.cachedFiles, (file) => [
      file.name,
      file.version,
      formatBytes(file.sizeBytes),
      code(file.sha256),
    ]),
    ...table('Registry', ['path', 'name', 'value'], parts.registry, ({ path, name, value }) => [
      path,
      name,
      value,
    ]),
    ...table(
      'Identities and secrets on the disk',
      ['where', 'what', ''],
      parts.findings ?? [],
      ({ path, reason, level }) => [path, reason, level === 'fail' ? '**remove**' : 'differs by machine'],
    ),
  ];
}

function measure({ unit }: NotedBudget, value: number): string {
  return unit === 'bytes' ? formatBytes(value) : `${(value / 1000).toFixed(1)} s`;
}

function section<T>(title: string, items: readonly T[], render: (item: T) => string): string[] {
  return items.length === 0 ? [] : [`## ${title}`, items.map(render).join('\n')];
}

function table<T>(
  title: string,
  heads: readonly string[],
  items: readonly T[],
  cells: (item: T) => readonly string[],
): string[] {
  const row = (texts: readonly string[]) => `| ${texts.map(cell).join(' | ')} |`;
  if (items.length === 0) return [];
  const rows = [row(heads), `|${heads.map(() => '---|').join('')}`, ...items.map((item) => row(cells(item)))];
  return [`## ${title}`, rows.join('\n')];
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

/** A name on the disk must not be able to end the block that it is shown in. */
function fenced(lines: readonly string[]): string {
  const longest = Math.max(2, ...lines.map((text) => /`{3,}/.exec(text)?.[0].length ?? 0));
  const fence = '`'.repeat(longest + 1);
  return `${fence}diff\n${lines.map((text) => text.replaceAll('\n', ' ')).join('\n')}\n${fence}`;
}
