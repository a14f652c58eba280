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
    ['Content', notes.os === 'windows' ? 'as its lock says; a disk of Windows is not read' : ''],
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

function windows({ windows: parts }: ReleaseNotes): string[] {
  if (parts === undefined) return [];
  return [
    ...section('Features', parts.features, (name) => `- ${name}`),
    ...table('Patches (QFE)', ['KB', 'class', 'sha256'], parts.patches, ({ kb, class: kind, sha256 }) => [
      kb,
      kind,
      code(sha256),
    ]),
    ...table('Services', ['name', 'start'], parts.services, ({ name, start }) => [name, start]),
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
