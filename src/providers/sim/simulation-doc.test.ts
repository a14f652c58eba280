// docs/simulation.md says what the code does.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultKinds } from '../../ports/provider/sim-control.ts';
import { azureDurations, type Duration } from './world/durations.ts';
import { breakKinds } from './world/traits.ts';

const text = readFileSync(new URL('../../../docs/simulation.md', import.meta.url), 'utf8');

function row(start: string): string {
  return text.split('\n').find((line) => line.startsWith(`| ${start}`)) ?? '';
}

function seconds({ low, median, high }: Duration): string {
  return `${low}, ${median}, ${high}`;
}

describe('docs/simulation.md', () => {
  it.each(faultKinds)('explains the fault %s', (kind) => {
    expect(
      text
        .split('\n')
        .filter((line) => line.startsWith('| `'))
        .join('\n'),
    ).toContain(`\`${kind}\``);
  });

  it.each(breakKinds)('explains the break %s', (kind) => {
    expect(row(`\`${kind}\``)).not.toBe('');
  });

  it.each([
    ['version in its first region', ['versionCreate']],
    ['each further region', ['regionAdd']],
    ['change of a version', ['versionUpdate']],
    ['deletion of a version', ['versionDelete']],
    ['snapshot', ['snapshotCreate']],
    ["pool's model", ['poolModel']],
    ['node: new disk', ['nodeReimage', 'nodeUpgrade', 'nodeStop']],
    ['node: create', ['nodeCreate', 'nodeStart', 'nodeDelete']],
  ] as const)('has the durations of %s', (start, kinds) => {
    expect(row(start)).toContain(`| ${kinds.map((kind) => seconds(azureDurations[kind])).join(' / ')} |`);
  });
});
