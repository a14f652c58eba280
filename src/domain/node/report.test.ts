import { describe, expect, it } from 'vitest';
import { type NodeReport, readNodeReport } from './report.ts';

const report: NodeReport = {
  schema: 1,
  phase: 'ready',
  at: '2026-11-15T10:00:00.000Z',
  bootId: 'b',
  agentVersion: '0.1.0',
  steps: [{ name: 'files', state: 'done', startedMs: 10, durationMs: 2 }],
  timeline: [{ name: 'ready', ms: 12 }],
  pending: [],
};

describe('a line from a node', () => {
  it('is read as the report that was written', () => {
    expect(readNodeReport(JSON.stringify(report))).toEqual(report);
  });

  it.each([
    ['noise', '[  1.2] kernel: hello'],
    ['half a line', JSON.stringify(report).slice(0, 40)],
    ['no object', '[1]'],
    ['another schema', JSON.stringify({ ...report, schema: 2 })],
    ['an unknown phase', JSON.stringify({ ...report, phase: 'dancing' })],
    ['steps that are no list', JSON.stringify({ ...report, steps: 'all' })],
    ['steps that are no records', JSON.stringify({ ...report, steps: [null] })],
  ])('is no report when it is %s', (_, line) => {
    expect(readNodeReport(line)).toBeUndefined();
  });
});
