// Writes a review of a recipe as Markdown, for a comment on a pull request. Names and texts come from packages and scanners:
// none of them can end a table or a block.
import type { ResponseOf } from '../../api/contract/types.ts';
import type { LevelCounts } from '../../domain/evidence/finding.ts';
import { describeGate } from '../../domain/gate/describe.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { formatDuration } from '../../domain/value/duration.ts';

/** What one version is known by. What was not measured is absent. */
export interface Reviewed {
  readonly version: string;
  readonly kubernetes?: string | undefined;
  readonly usedBytes?: number | undefined;
  readonly tested?: boolean | undefined;
  readonly bootToReadyMs?: number | undefined;
  readonly scans: readonly Scan[];
}

export interface Scan {
  readonly tool: string;
  readonly counts: LevelCounts;
  readonly findings: readonly { readonly id: string; readonly level?: string; readonly where?: string }[];
}

export interface Review {
  readonly image: string;
  readonly channel: string;
  readonly now: Reviewed;
  /** The version that the channel points to. */
  readonly before?: Reviewed | undefined;
  /** The differences as text, in sections. Absent if the two have no disks here to compare. */
  readonly differences?: string | undefined;
  /** Absent if the image has no such channel. */
  readonly gates?: ResponseOf<'showGates'>['gates'] | undefined;
}

const maxLines = 150;
const alwaysShown = ['Packages', 'Container images'];

export function reviewMarkdown(review: Review): readonly string[] {
  const { image, channel, now, before, gates } = review;
  const against =
    before === undefined ? `${channel} has no version yet` : `against ${before.version} in ${channel}`;
  return [
    `## ${image}:${now.version}, ${against}`,
    '',
    ...facts(review),
    ...differences(review),
    ...security(now, before),
    `### Gates of ${channel}`,
    '',
    ...(gates === undefined
      ? [`${image} has no channel ${channel} yet.`]
      : gates.map((gate) => `- ${plain(describeGate(gate))}`)),
  ];
}

function facts({ now, before, channel }: Review): readonly string[] {
  const rows: readonly (readonly [string, (version: Reviewed) => string, string?])[] = [
    ['Kubernetes', ({ kubernetes }) => kubernetes ?? '–'],
    ['Used on the disk', ({ usedBytes }) => shown(usedBytes, formatBytes), change('usedBytes', formatBytes)],
    ['Tests', ({ tested }) => (tested === undefined ? 'not tested' : tested ? 'passed' : '**failed**')],
    [
      'Boot to ready',
      ({ bootToReadyMs }) => shown(bootToReadyMs, formatDuration),
      change('bootToReadyMs', formatDuration),
    ],
    ['Findings', ({ scans }) => scans.map(countsOf).join('; ') || 'not scanned'],
  ];
  function change(field: 'usedBytes' | 'bootToReadyMs', format: (value: number) => string): string {
    const [was, is] = [before?.[field], now[field]];
    if (was === undefined || is === undefined || was === is) return '';
    return ` (${is > was ? '+' : '−'}${format(Math.abs(is - was))})`;
  }
  return [
    `| | ${channel} | this recipe |`,
    '|---|---|---|',
    ...rows.map(
      ([name, value, changed = '']) =>
        `| ${name} | ${before === undefined ? '–' : cell(value(before))} | ${cell(value(now))}${changed} |`,
    ),
    '',
  ];
}

function shown(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? 'not measured' : format(value);
}

function countsOf({ tool, counts }: Scan): string {
  const levels = (['critical', 'high', 'medium', 'low', 'unknown'] as const).filter(
    (level) => counts[level] > 0,
  );
  return `${tool}: ${levels.map((level) => `${counts[level]} ${level}`).join(', ') || 'none'}`;
}

function differences({ before, differences: text }: Review): readonly string[] {
  if (before === undefined) return [];
  if (text === undefined)
    return ['### Changes', '', 'The contents were not compared: a disk is not in the store.', ''];
  const sections = text.trimEnd().split(/\n\n(?=\S)/);
  return sections.flatMap((section) => {
    const [title = '', ...lines] = section.split('\n');
    if (lines.length === 0) return ['### Changes', '', plain(title), ''];
    const cut =
      lines.length > maxLines
        ? [...lines.slice(0, maxLines), `  and ${lines.length - maxLines} more`]
        : lines;
    const block = ['```diff', ...cut.map((line) => line.slice(2).replaceAll('```', "'''")), '```', ''];
    return alwaysShown.includes(title)
      ? [`### ${title}`, '', ...block]
      : [`<details><summary>${title} (${lines.length})</summary>`, '', ...block, '</details>', ''];
  });
}

/** What scanners found on one of the two alone. */
function security(now: Reviewed, before: Reviewed | undefined): readonly string[] {
  if (before === undefined || now.scans.length === 0 || before.scans.length === 0) return [];
  const [is, was] = [findingsOf(now), findingsOf(before)];
  const lines = [
    ...[...is].filter(([key]) => !was.has(key)).map(([, text]) => `- new: ${text}`),
    ...[...was].filter(([key]) => !is.has(key)).map(([, text]) => `- gone: ${text}`),
  ];
  const none = ['The scanners found the same on both.'];
  return ['### Security', '', ...(lines.length === 0 ? none : lines.slice(0, maxLines)), ''];
}

function findingsOf({ scans }: Reviewed): ReadonlyMap<string, string> {
  return new Map(
    scans.flatMap(({ findings }) =>
      findings.map(({ id, level = 'unknown', where = '' }) => [
        `${id} ${where.replace(/@.*/, '')}`,
        plain(`${id} (${level}) ${where}`.trimEnd()),
      ]),
    ),
  );
}

/** As code, so that no part of it is a link, a mention, or HTML. */
function plain(text: string): string {
  return `\`${text.replaceAll('`', "'").replace(/\s+/g, ' ')}\``;
}

function cell(text: string): string {
  return text.replace(/[|<>`@]|\s+/g, (found) => (found.trim() === '' ? ' ' : `&#${found.charCodeAt(0)};`));
}
