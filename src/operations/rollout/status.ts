// Describes rollouts for people: what one would do before it starts, and where one is while it runs.
import type * as z from 'zod';
import { rollout as declared } from '../../domain/rollout/operations.ts';
import type { plannedRollout, RolloutRecord, rolloutStatus } from '../../domain/rollout/record.ts';
import { type Course, turnsOf } from '../../domain/rollout/turns.ts';
import { parseWindow } from '../../domain/rollout/window.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import type { OperationDeps } from '../common/deps.ts';
import { findFloors } from './floors.ts';
import { readMoves } from './observe.ts';
import { planRollout, type RolloutInput, type RolloutPlan, type RolloutReading } from './target.ts';

type PlannedRollout = z.output<typeof plannedRollout>;

const maxDifferences = 200;

export async function describePlan(
  run: RolloutReading & { readonly clock: { now(): number }; readonly images?: ImageStore | undefined },
): Promise<PlannedRollout> {
  const plan = await planRollout(run);
  const { waves, current, to, from, maxUnavailable, extraNodes } = plan;
  const course = courseOf(plan, run.input, run.clock.now());
  const nodes = turnsOf({ ...course, moves: new Map(), isMoving: true });
  const version = await run.catalogue.getVersion(to.image, to.version);
  const moving = waves.reduce((sum, wave) => sum + wave.nodes.length, 0);
  const last = nodes.at(-1)?.expectedAt;
  return {
    ...{
      pool: run.input.name,
      to,
      from,
      through: await findFloors(run),
      maxUnavailable,
      extraNodes,
      current,
      nodes,
    },
    bytes: (version?.sizeBytes ?? 0) * moving,
    endsAt: new Date((last === undefined ? course.now : Date.parse(last)) + course.bakeMs).toISOString(),
    differences: await differencesOf(run, plan),
  };
}

/** From the disks of both versions, where the local store has them. */
async function differencesOf(
  { images, call }: Pick<RolloutReading, 'call'> & { readonly images?: ImageStore | undefined },
  { from, to }: RolloutPlan,
): Promise<readonly string[]> {
  if (images === undefined || from.digest === to.digest) return [];
  for (const { digest } of [from, to]) if ((await images.find(digest)) === undefined) return [];
  const { text } = await images.records.diff(from.digest, to.digest, call.signal);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const more = lines.length > maxDifferences ? [`and ${lines.length - maxDifferences} more lines`] : [];
  return [...lines.slice(0, maxDifferences), ...more];
}

export async function describeRollout(
  deps: Pick<OperationDeps, 'journal' | 'clock'>,
  record: RolloutRecord,
): Promise<z.output<typeof rolloutStatus>> {
  const operation = await deps.journal.get(record.operation);
  const plan = operation?.steps.find(({ name }) => name === 'plan')?.result as RolloutPlan | undefined;
  if (operation === undefined) return { ...record, nodes: [] };
  const { state: operationState, currentStep: step, progress } = operation;
  const moves = await readMoves(deps, operation.id, 'to');
  const isMoving = record.state === 'running' && record.paused !== true;
  const course = plan && courseOf(plan, declared.input.parse(operation.input), deps.clock.now());
  return {
    ...{ ...record, operationState, nodes: course ? turnsOf({ ...course, moves, isMoving }) : [] },
    ...(step !== undefined && { step }),
    ...(progress !== undefined && { sentence: progress.sentence }),
  };
}

function courseOf(plan: RolloutPlan, input: RolloutInput, now: number): Omit<Course, 'moves' | 'isMoving'> {
  return {
    ...{ waves: plan.waves, maxUnavailable: plan.maxUnavailable, now },
    bakeMs: input.now ? 0 : parseDuration(input.bake),
    windows: input.now ? [] : input.windows.map(parseWindow),
  };
}
