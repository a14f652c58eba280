import { expect, test } from 'vitest';
import type { RecipeWindows, WindowsPatch } from './recipe.ts';
import { installedPatches, patchProblem, plannedBuild, planPatches } from './windows.ts';
import { supportNotice, supportProblem, windowsLifecycles } from './windows-support.ts';

function patch(kb: string, ...prerequisites: string[]): WindowsPatch {
  return {
    ...{ kb, class: 'B', kind: 'update', url: 'https://example.test' },
    ...(prerequisites.length > 0 && { prerequisites }),
  };
}

function cumulative(kb: string, build?: string, more: Partial<WindowsPatch> = {}): WindowsPatch {
  return { kb, class: 'B', url: 'https://example.test', ...(build !== undefined && { build }), ...more };
}

function planOf(windows: RecipeWindows) {
  const { install, beside, superseded } = planPatches(windows);
  const names = (patches: readonly WindowsPatch[]) => patches.map(({ kb }) => kb);
  return [names(install), names(beside), superseded.map(({ patch: { kb }, by }) => `${kb} < ${by}`)];
}

test('a patch goes on after its prerequisites, else the order is as written', () => {
  const patches = [patch('KB3', 'KB1', 'KB4'), patch('KB2'), patch('KB1'), patch('KB4', 'KB1')];
  expect(installedPatches({ patches }).map(({ kb }) => kb)).toEqual(['KB2', 'KB1', 'KB4', 'KB3']);
});

test("the order of kinds is Microsoft's: servicing stack, others, cumulative, .NET", () => {
  const patches = [
    cumulative('KB4', '20348.2113'),
    cumulative('KB5', undefined, { kind: 'dotnet' }),
    patch('KB2'),
    cumulative('KB1', undefined, { kind: 'servicing-stack' }),
  ];
  expect(planOf({ patches })).toEqual([['KB1', 'KB2', 'KB4', 'KB5'], [], []]);
});

test('of several cumulative updates only the newest is installed, and the others are reported', () => {
  const patches = [
    cumulative('KB5030216', '20348.1970'),
    cumulative('KB5032198', '20348.2113'),
    cumulative('KB5031364', '20348.2031'),
  ];
  expect(planOf({ patches })).toEqual([
    ['KB5032198'],
    [],
    ['KB5030216 < KB5032198', 'KB5031364 < KB5032198'],
  ]);
  expect(patchProblem({ patches: [cumulative('KB1'), cumulative('KB2', '20348.1')] })).toMatch(
    /^KB1 is one of 2 cumulative updates, of which only the newest counts/,
  );
});

test('what the base has is not installed again, and satisfies prerequisites', () => {
  const base = { build: '20348.1129', updates: ['KB5018421'] };
  const patches = [
    cumulative('KB5018485', '20348.1194', { class: 'preview', prerequisites: ['KB5018421'] }),
    cumulative('KB5017316', '20348.1006'),
  ];
  expect(planOf({ base, patches })).toEqual([
    ['KB5018485'],
    [],
    ['KB5017316 < the base, which is 20348.1129'],
  ]);
  expect(patchProblem({ base, patches: [cumulative('KB1', '17763.1911')] })).toBe(
    'KB1 is for build 17763, and the base is 20348.1129',
  );
});

test('a checkpoint lies beside its cumulative update, and is never installed alone', () => {
  const base = { build: '26100.1' };
  const checkpoint = cumulative('KB5043080', '26100.1742', { kind: 'checkpoint' });
  const target = cumulative('KB5060842', '26100.4349');
  expect(planOf({ base, patches: [checkpoint, target] })).toEqual([['KB5060842'], ['KB5043080'], []]);
  expect(patchProblem({ base, patches: [checkpoint] })).toMatch(/only with a cumulative update/);
  expect(
    patchProblem({
      base: { build: '20348.1' },
      patches: [cumulative('KB1', '20348.9', { kind: 'checkpoint' }), cumulative('KB2', '20348.10')],
    }),
  ).toMatch(/build 20348 does not have/);
});

test('a private update that supersedes another is not named', () => {
  const patches = [cumulative('KB1', '20348.1'), cumulative('KB2', '20348.2', { private: true })];
  expect(planOf({ patches })[2]).toEqual(['KB1 < a private patch']);
});

test('a prerequisite that is not there, and a circle, are reported', () => {
  expect(patchProblem({ patches: [patch('KB1', 'KB9')] })).toBe(
    'KB1 needs KB9, which is neither among the patches nor in `windows.base.updates`',
  );
  expect(patchProblem({ patches: [patch('KB1', 'KB2'), patch('KB2', 'KB1'), patch('KB3')] })).toMatch(
    /^KB1, KB2 need each other/,
  );
  expect(() => planPatches({ patches: [patch('KB1', 'KB1')] })).toThrow(/need each other/);
});

test('the system has the build of the newest cumulative update, or that of the base', () => {
  const base = { build: '20348.1129' };
  expect(
    plannedBuild({ base, patches: [cumulative('KB1', '20348.2113'), cumulative('KB2', '20348.1970')] }),
  ).toBe('20348.2113');
  expect(plannedBuild({ base, patches: [cumulative('KB3', '20348.1')] })).toBe('20348.1129');
  expect(plannedBuild({})).toBeUndefined();
});

test('support ends with security updates; the end of mainstream support is reported', () => {
  const windows = { base: { build: '20348.1129' } };
  expect(supportNotice({ windows }, '2026-10-13')).toBeUndefined();
  expect(supportNotice({ windows }, '2026-10-14')).toMatch(
    /^Mainstream support of Windows Server 2022 ended on 2026-10-13/,
  );
  expect(supportNotice({ windows }, '2031-10-15')).toMatch(/no security updates/);
  expect(supportProblem({ windows, support: { until: '2031-10-14' } })).toBeUndefined();
  expect(supportProblem({ windows, support: { until: '2031-10-15' } })).toMatch(/until 2031-10-14/);
  for (const { mainstream, security } of Object.values(windowsLifecycles))
    expect(mainstream < security).toBe(true);
});
