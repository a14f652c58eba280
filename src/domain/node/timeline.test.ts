import { describe, expect, it } from 'vitest';
import type { NodeReport } from './report.ts';
import { latestKernelStart, makeTimeline, timelineBar } from './timeline.ts';

const startedAt = '2026-01-01T00:00:00.000Z';
const report: NodeReport = {
  schema: 1,
  phase: 'ready',
  at: '2026-01-01T00:00:10.500Z',
  bootId: 'b',
  agentVersion: '1.0.0',
  steps: [
    { name: 'identity', state: 'done', startedMs: 4000, durationMs: 200 },
    { name: 'sysctl', state: 'unchanged', startedMs: 4200, durationMs: 100 },
  ],
  timeline: [
    { name: 'kernel', ms: 0 },
    { name: 'userspace', ms: 1500 },
    { name: 'config', ms: 4000 },
    { name: 'ready', ms: 10_000 },
  ],
  pending: [],
};

describe('the timeline of a machine', () => {
  it('begins when the machine was switched on, and each stage lasts until the next', () => {
    const { entries, readyMs } = makeTimeline(report, startedAt, latestKernelStart(report));
    expect(readyMs).toBe(10_500);
    expect(entries.map(({ name, startMs, durationMs }) => [name, startMs, durationMs])).toEqual([
      ['firmware', 0, 500],
      ['kernel', 500, 1500],
      ['userspace', 2000, 2500],
      ['config', 4500, 6000],
      ['identity', 4500, 200],
      ['sysctl', 4700, 100],
      ['ready', 10_500, 0],
    ]);
  });

  it('has nothing before the start, however coarse the clock of the machine is', () => {
    const { entries } = makeTimeline(report, '2026-01-01T00:00:01.000Z', latestKernelStart(report));
    expect(Math.min(...entries.map(({ startMs }) => startMs))).toBe(0);
  });

  it('takes the firmware from the machine where it tells, before the kernel', () => {
    const told = { ...report, timeline: [{ name: 'firmware', ms: -300 }, ...report.timeline] };
    const { entries } = makeTimeline(told, startedAt, latestKernelStart(told));
    expect(entries[0]).toMatchObject({ name: 'firmware', startMs: 200, durationMs: 300 });
  });

  it('is not ready because an earlier config was', () => {
    const failed = { ...report, phase: 'failed' as const };
    expect(makeTimeline(failed, startedAt, 0).readyMs).toBeUndefined();
  });

  it('is drawn to scale, and short things can be seen', () => {
    const bar = (startMs: number, durationMs: number) =>
      timelineBar({ name: 'x', kind: 'stage', startMs, durationMs }, 100, 10);
    expect(bar(0, 50)).toBe('█████');
    expect(bar(50, 50)).toBe('     █████');
    expect(bar(100, 0)).toBe('         █');
  });
});
