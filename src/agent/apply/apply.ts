// One apply: gate, render, commit, activate, verify; and back again when it does not hold.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { NodeConfigRef, NodeWaiting, PendingChange } from '../../domain/node/report.ts';
import { highestCost, planChanges } from '../../domain/node-config/plan-changes.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { Effect } from '../desired/change.ts';
import type { Fetcher } from '../desired/desired.ts';
import {
  countAttempt,
  forgetFailures,
  type GoodConfig,
  type RunningState,
  readGood,
  withoutSecrets,
  writeGood,
  writtenGood,
} from '../desired/state.ts';
import type { Outside } from '../desired/step.ts';
import type { Reporter } from '../report/reporter.ts';
import { bootIdPath, configuredPath, downloadsFolder, goodConfigPath } from '../system/paths.ts';
import { prepareSwap } from '../system/swap.ts';
import { removeTree, type System } from '../system/system.ts';
import { activate, currentKernelValues, followFiles } from './activate.ts';
import {
  closeJournal,
  commitChanges,
  discard,
  dropJournal,
  type Journal,
  keepChanges,
  place,
  readJournal,
  undoChanges,
} from './apply-journal.ts';
import { type Rendered, render } from './render.ts';
import { verifyRunning } from './verify.ts';

export interface WantedConfig {
  readonly ref: NodeConfigRef;
  readonly config: NodeConfig;
}

export interface ApplyOptions {
  readonly wanted: WantedConfig;
  readonly name: string;
  readonly fetcher: Fetcher;
  readonly outside: Outside;
  readonly reporter: Reporter;
  readonly readyDeadlineMs: number;
}

export interface ApplyResult {
  readonly changed: boolean;
  readonly rendered: Rendered;
  /**
   * To be called once, when the node is known to be ready: records the config as good, which takes no space. Until
   * then a power cut lets the next start apply it again. Throws as `applyConfig` does.
   */
  readonly settle: () => Promise<void>;
}

const mostAttempts = 3;
/** How long services of the last good config may take until they answer again. */
const goBackDeadlineMs = 300_000;
const nothing: RunningState = { start: [], stop: [], modules: [], kernelValues: [], metadataClosed: true };

/** Nothing that depends on the config has been started in this boot. */
export function isBooting(system: System): boolean {
  return system.facts(configuredPath) === undefined;
}

/**
 * Brings an apply that was cut off to an end as far as that needs no config: what was not committed is cleared away,
 * what was being undone is undone. What was committed is put in place, and stays open until `applyConfig`.
 */
export async function recover(system: System): Promise<void> {
  const journal = readJournal(system);
  if (journal === undefined || journal.digest === readGood(system)?.digest) return dropJournal(system);
  if (journal.state === 'preparing') return discard(system, journal);
  if (journal.state === 'committed') {
    place(system, journal);
    return;
  }
  await undoChanges(system, journal);
  await closeJournal(system);
}

/** What stands between the config in force and the wanted one; undefined when the agent may go on. */
export function gate(
  good: GoodConfig | undefined,
  { config, ref }: WantedConfig,
  allowed: ReadonlySet<'restart' | 'drain'>,
): { readonly pending: readonly PendingChange[]; readonly waiting?: NodeWaiting } {
  if (good === undefined || good.digest === ref.digest) return { pending: [] };
  const pending = planChanges(good.config, withoutSecrets(config)).map(({ field, sentence, cost }) => ({
    field,
    sentence,
    cost,
  }));
  const cost = highestCost(pending);
  if (cost === 'live' || (cost !== 'reimage' && allowed.has(cost))) return { pending };
  return { pending, waiting: { for: cost, digest: ref.digest } };
}

/** Throws with the node as its last good config says, or, where there is none, with nothing started. */
export async function applyConfig(system: System, options: ApplyOptions): Promise<ApplyResult> {
  const { wanted, reporter } = options;
  const { digest } = wanted.ref;
  const boot = isBooting(system);
  const good = readGood(system);
  let open = await openJournal(system, digest, good);
  const attempt = open === undefined ? 1 : await countAttempt(system, digest);
  let rendered = await renderWanted(system, options);
  if (open !== undefined && rendered.changes.length > 0 && attempt <= mostAttempts) {
    await goBack(system, open, good, rendered.running);
    open = undefined;
    rendered = await renderWanted(system, options);
  }
  const { changes, effects, running } = rendered;
  if (changes.length === 0 && open === undefined && !boot && good?.digest === digest) {
    return { changed: false, rendered, settle: async () => undefined };
  }
  const bootId = system.readText(bootIdPath)?.trim() ?? 'unknown';
  const kernelValues = currentKernelValues(system, effects, running);
  const facts = { digest, bootId, effects, kernelValues };
  const text = writtenGood({ ...wanted.ref, config: withoutSecrets(wanted.config), running });
  const record = { path: goodConfigPath, text };
  const journal =
    open ??
    (changes.length === 0
      ? undefined
      : await reporter.step('write', () => commitChanges(system, changes, facts, record)));

  async function orBack(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      // It is in force; the disk alone has not said so.
      if (good?.digest !== digest && readGood(system)?.digest === digest) throw thrown;
      if (journal !== undefined) {
        await reporter.step('go back', () =>
          goBackAfter(thrown, () => goBack(system, journal, good, running)),
        );
      } else if (boot) await standStill(system, running);
      throw thrown;
    }
  }

  await orBack(async () => {
    if (attempt > mostAttempts) {
      throw new ImagoError(
        'node-apply-interrupted',
        `The machine ended ${mostAttempts} times while it applied this config.`,
      );
    }
    const due = new Set<Effect>([...effects, ...(journal?.effects ?? [])]);
    await reporter.step('start', () =>
      activate(system, { effects: due, running, boot, deadlineMs: options.readyDeadlineMs }),
    );
    await reporter.step('verify', () =>
      verifyRunning(system, running, {
        ...{ deadlineMs: options.readyDeadlineMs, boot },
        mark: (name) => reporter.mark(name),
      }),
    );
  });
  return {
    changed: changes.length > 0 || journal !== undefined,
    rendered,
    async settle() {
      await orBack(() =>
        journal === undefined ? writeGood(system, text) : keepChanges(system, journal, record),
      );
      forgetFailures(system);
      removeTree(system, downloadsFolder);
    },
  };
}

/** Where the wanted config cannot be used, at a boot or after it failed: the node goes on with its last good one. */
export async function bringUp(system: System, good: GoodConfig, deadlineMs: number): Promise<void> {
  const boot = isBooting(system);
  const open = readJournal(system);
  if (open !== undefined) await goBack(system, open, good, nothing);
  await activate(system, { effects: new Set(), running: good.running, boot, deadlineMs });
  await verifyRunning(system, good.running, { deadlineMs, boot });
}

/** The journal of this very config, if a crash left it open; that of another one is undone. */
async function openJournal(
  system: System,
  digest: string,
  good: GoodConfig | undefined,
): Promise<Journal | undefined> {
  const journal = readJournal(system);
  if (journal === undefined || journal.digest === digest) return journal;
  await goBack(system, journal, good, nothing);
  return undefined;
}

async function renderWanted(system: System, options: ApplyOptions): Promise<Rendered> {
  const { wanted, name, fetcher, outside, reporter } = options;
  reporter.clearSteps();
  const within = (step: string, work: () => Promise<boolean>) => reporter.step(step, work);
  return render(system, { config: wanted.config, name, fetcher, outside, within });
}

/** The files of the last good config, and what runs by them; at a boot nothing runs yet, and nothing is started. */
async function goBack(
  system: System,
  journal: Journal,
  good: GoodConfig | undefined,
  started: RunningState,
): Promise<void> {
  await undoChanges(system, journal);
  await closeJournal(system);
  if (isBooting(system)) return followFiles(system, new Set(journal.effects), good?.running ?? nothing);
  if (good === undefined) return standStill(system, started);
  const surplus = started.start.filter((unit) => !good.running.start.includes(unit));
  const effects = new Set<Effect>([...journal.effects, ...surplus.map((unit): Effect => `stop:${unit}`)]);
  await activate(system, { effects, running: good.running, boot: false });
  await verifyRunning(system, good.running, { deadlineMs: goBackDeadlineMs, boot: false });
}

/** The cause stays known when the way back is blocked as well; the next start goes on with it. */
async function goBackAfter(cause: unknown, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (!(cause instanceof Error) || !(thrown instanceof Error)) throw thrown;
    throw new ImagoError(
      'node-apply-failed',
      `${cause.message} Going back failed as well: ${thrown.message}`,
      {
        cause,
        retryable: true,
        details: { wentBack: false },
      },
    );
  }
}

/** A node without any good config runs nothing that could be taken for one. */
async function standStill(system: System, { start }: RunningState): Promise<void> {
  system.remove(configuredPath);
  if (start.length > 0)
    await system.run(['systemctl', 'stop', ...start.toReversed()], { timeoutMs: 180_000 });
  await prepareSwap(system, 0);
}
