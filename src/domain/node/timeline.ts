// How a machine came up: one line of time from the moment its process began, put together from what its host saw
// and what its agent reported.
import type { NodePhase, NodeReport, NodeStepState } from './report.ts';

export interface TimelineEntry {
  readonly name: string;
  /** A stage lasts until the next one begins; steps are the parts of the apply. */
  readonly kind: 'stage' | 'step';
  /** Since the machine was switched on. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly state?: NodeStepState | undefined;
}

export interface Timeline {
  /** When the machine was switched on. */
  readonly startedAt: string;
  readonly phase: NodePhase;
  /** Absent until the machine has said so in this boot. */
  readonly readyMs?: number;
  readonly entries: readonly TimelineEntry[];
}

/**
 * The latest moment at which the kernel can have started, as this report tells: it was written when the kernel
 * had run at least as long as the youngest thing in it.
 */
export function latestKernelStart({ at, timeline, steps }: NodeReport): number {
  const youngest = [
    ...timeline.map(({ ms }) => ms),
    ...steps.map(({ startedMs, durationMs }) => startedMs + durationMs),
  ];
  return Date.parse(at) - Math.max(0, ...youngest);
}

/** `kernelAt`: the earliest of what the reports of this boot tell. Clocks are coarse: nothing lies before the start. */
export function makeTimeline(report: NodeReport, startedAt: string, kernelAt: number): Timeline {
  const kernelMs = Math.max(0, Math.round(kernelAt - Date.parse(startedAt)));
  const place = (ms: number) => Math.max(0, kernelMs + ms);
  const marks = report.timeline.map(({ name, ms }) => ({ name, ms: place(ms) }));
  if (!marks.some(({ name }) => name === 'kernel')) marks.push({ name: 'kernel', ms: kernelMs });
  if (!marks.some(({ name }) => name === 'firmware')) marks.push({ name: 'firmware', ms: 0 });
  marks.sort((a, b) => a.ms - b.ms);
  const stages = marks.map(({ name, ms }, index): TimelineEntry => {
    const next = marks[index + 1]?.ms ?? ms;
    return { name, kind: 'stage', startMs: ms, durationMs: next - ms };
  });
  const steps = report.steps.map(
    ({ name, state, startedMs, durationMs }): TimelineEntry => ({
      ...{ name, kind: 'step', startMs: place(startedMs), durationMs, state },
    }),
  );
  const ready = report.phase === 'ready' ? marks.find(({ name }) => name === 'ready') : undefined;
  const entries = [...stages, ...steps].sort((a, b) => a.startMs - b.startMs || order(a) - order(b));
  return {
    startedAt,
    phase: report.phase,
    ...(ready === undefined ? {} : { readyMs: ready.ms }),
    entries,
  };
}

/** What begins at the same moment: the stage, then its steps. */
function order({ kind }: TimelineEntry): number {
  return kind === 'stage' ? 0 : 1;
}

/** The entry's place in the whole, as a bar of so many letters. */
export function timelineBar(entry: TimelineEntry, totalMs: number, width: number): string {
  const scale = (ms: number) => Math.round((ms / Math.max(1, totalMs)) * width);
  const from = Math.min(scale(entry.startMs), width - 1);
  const length = Math.max(1, Math.min(scale(entry.durationMs), width - from));
  return `${' '.repeat(from)}${(entry.kind === 'stage' ? '█' : '▒').repeat(length)}`;
}
