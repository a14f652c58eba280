// The picture of boots side by side: one bar a machine, one colour a stage, on one scale. Readable on light and dark.
import type { BootTimes } from './boot-run.ts';

export interface PictureBoot {
  readonly title: string;
  readonly times: BootTimes;
}

const stageKinds = [
  { name: 'power to kernel', light: '#8a8f98', dark: '#9aa0aa' },
  { name: 'kernel and initrd', light: '#5b7aa8', dark: '#7f9fd0' },
  { name: 'start of the system', light: '#3f9c8f', dark: '#5cc4b5' },
  { name: 'configuration', light: '#c9822b', dark: '#e6a552' },
  { name: 'packages', light: '#b5484f', dark: '#dd7076' },
  { name: 'container runtime', light: '#7b5ea7', dark: '#a387d1' },
] as const;
type StageName = (typeof stageKinds)[number]['name'];

export interface Stage {
  readonly name: StageName;
  readonly from: number;
  readonly to: number;
}

/**
 * A stage lasts until the next one begins. One that did not come, came after the machine was ready, or went on beside
 * the one before it (a runtime that starts by itself while cloud-init works) is left out.
 */
export function bootStages({ ready, stages }: BootTimes): readonly Stage[] {
  const begin = (name: string) => stages.get(name) ?? Number.POSITIVE_INFINITY;
  const installed = stages.get('installed');
  const packages = installed === undefined ? undefined : stages.get('cloud-final');
  const begins: readonly (readonly [StageName, number])[] = [
    ['power to kernel', 0],
    ['kernel and initrd', begin('kernel')],
    ['start of the system', begin('userspace')],
    ['configuration', Math.min(begin('imago-agent'), begin('cloud-init-local'))],
    ['packages', packages ?? Number.POSITIVE_INFINITY],
    ['container runtime', installed ?? begin('containerd')],
  ];
  const present: (readonly [StageName, number])[] = [];
  for (const stage of begins) {
    if (stage[1] < ready && stage[1] >= (present.at(-1)?.[1] ?? 0)) present.push(stage);
  }
  return present.map(([name, from], index) => ({ name, from, to: present[index + 1]?.[1] ?? ready }));
}

const width = 900;
const left = 20;
const right = 110;
const rowHeight = 58;
const top = 74;

export function drawBoots(boots: readonly PictureBoot[]): string {
  const longest = Math.max(...boots.map(({ times }) => times.ready));
  const scale = (width - left - right) / longest;
  const height = top + boots.length * rowHeight + 14;
  const rows = boots.map(({ title, times }, index) => drawRow(title, times, top + index * rowHeight, scale));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">`,
    '<title id="title">From power to a node that is ready</title>',
    `<desc id="desc">${boots.map(({ title, times }) => escapeText(`${title}: ${seconds(times.ready)}`)).join('; ')}</desc>`,
    style(),
    `<rect class="ground" width="${width}" height="${height}"/>`,
    ...drawKey(),
    ...rows,
    ...drawAxis(longest, scale, height - 28),
    '</svg>',
  ].join('\n')}\n`;
}

function style(): string {
  const colours = (tone: 'light' | 'dark') =>
    stageKinds.map((kind, index) => `.s${index}{fill:${kind[tone]}}`).join('');
  const dark = `.ground{fill:#15181d}text{fill:#e8eaed}.faint{fill:#a5abb5}.line{stroke:#3a404a}${colours('dark')}`;
  return `<style>text{font:14px system-ui,sans-serif;fill:#1c2026}.faint{font-size:12px;fill:#5a626d}.total{font-weight:600}.ground{fill:#ffffff}.line{stroke:#d4d8de}${colours('light')}@media (prefers-color-scheme:dark){${dark}}</style>`;
}

function drawKey(): string[] {
  let x = left;
  return stageKinds.flatMap(({ name }, index) => {
    const at = x;
    x += 34 + name.length * 7;
    return [
      `<rect class="s${index}" x="${at}" y="22" width="14" height="14" rx="3"/>`,
      `<text class="faint" x="${at + 20}" y="33">${name}</text>`,
    ];
  });
}

function drawRow(title: string, times: BootTimes, y: number, scale: number): string {
  const bars = bootStages(times).map(({ name, from, to }) => {
    const index = stageKinds.findIndex((kind) => kind.name === name);
    const tip = `${name}: ${seconds(to - from)}`;
    return `<rect class="s${index}" x="${round(left + from * scale)}" y="${y}" width="${round((to - from) * scale)}" height="22"><title>${tip}</title></rect>`;
  });
  return [
    `<text x="${left}" y="${y - 8}">${escapeText(title)}</text>`,
    ...bars,
    `<text class="total" x="${round(left + times.ready * scale + 8)}" y="${y + 16}">${seconds(times.ready)}</text>`,
  ].join('\n');
}

function drawAxis(longest: number, scale: number, y: number): string[] {
  const step = [5, 10, 20, 30, 60, 120, 300, 600].find((one) => longest / one <= 10) ?? 1200;
  const marks = Array.from({ length: Math.floor(longest / step) + 1 }, (_, index) => index * step);
  return [
    `<line class="line" x1="${left}" x2="${round(left + longest * scale)}" y1="${y}" y2="${y}"/>`,
    ...marks.map(
      (mark) => `<text class="faint" x="${round(left + mark * scale)}" y="${y + 18}">${mark} s</text>`,
    ),
  ];
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
