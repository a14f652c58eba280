// One apply: check the cost, render, commit, activate, verify; and revert if that fails.
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
import { configuredPath, downloadsFolder, goodConfigPath } from '../system/paths.ts';
import { prepareSwap } from '../system/swap.ts';
import { bootIdOf, removeTree, type System } from '../system/system.ts';
import { activate, currentKernelValues, followFiles } from './activate.ts';
import {
  closeJournal,
  commitChanges,
  discard,
  dropJournal,
  type Journal,
  keepChanges,
  readJournal,
  renameIntoPlace,
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
   * Call it once, when the node is known to be ready: records the config as good, which takes no space. After a power
   * failure before that, the next start applies it again. Throws as `applyConfig` does.
   */
  readonly settle: () => Promise<void>;
}

const maxAttempts = 3;
/** How long services of the last good config can take until they respond again. */
const goBackDeadlineMs = 300_000;
const nothing: RunningState = { start: [], stop: [], modules: [], kernelValues: [], metadataClosed: true };

/** Returns whether nothing that depends on the config was started in this boot. */
export function isBooting(system: System): boolean {
  return system.facts(configuredPath) === undefined;
}

/**
 * Finishes an interrupted apply as far as that needs no config: uncommitted changes are removed, an undo is completed.
 * Committed changes are renamed into place, and stay open until `applyConfig`.
 */
export async function recover(system: System): Promise<void> {
  const journal = readJournal(system);
  if (journal === undefined || journal.digest === readGood(system)?.digest) return dropJournal(system);
  if (journal.state === 'preparing') return discard(system, journal);
  if (journal.state === 'committed') {
    renameIntoPlace(system, journal);
    return;
  }
  await undoChanges(system, journal);
  await closeJournal(system);
}

/** Returns the changes between the active config and the wanted one, and what they wait for, if anything. */
export function pendingChanges(
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

/** Throws with the node reverted to its last good config or, if there is none, with nothing started. */
export async function applyConfig(system: System, options: ApplyOptions): Promise<ApplyResult> {
  const { wanted, reporter } = options;
  const { digest } = wanted.ref;
  const boot = isBooting(system);
  const good = readGood(system);
  let open = await openJournal(system, digest, good);
  const attempt = open === undefined ? 1 : await countAttempt(system, digest);
  let rendered = await renderWanted(system, options);
  if (open !== undefined && rendered.changes.length > 0 && attempt <= maxAttempts) {
    await goBack(system, open, good, rendered.running);
    open = undefined;
    rendered = await renderWanted(system, options);
  }
  const { changes, effects, running } = rendered;
  if (changes.length === 0 && open === undefined && !boot && good?.digest === digest) {
    return { changed: false, rendered, settle: async () => undefined };
  }
  const kernelValues = currentKernelValues(system, effects, running);
  const facts = { digest, bootId: bootIdOf(system), effects, kernelValues };
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
      // It is active; only the disk did not confirm it.
      if (good?.digest !== digest && readGood(system)?.digest === digest) throw thrown;
      if (journal !== undefined) {
        await reporter.step('go back', () =>
          goBackAfter(thrown, () => goBack(system, journal, good, running)),
        );
      } else if (boot) await stopAll(system, running);
      throw thrown;
    }
  }

  await orBack(async () => {
    if (attempt > maxAttempts) {
      throw new ImagoError(
        'node-apply-interrupted',
        `The machine stopped ${maxAttempts} times while it applied this config.`,
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

/** Starts the last good config if the wanted one cannot be used, at a boot or after it failed. */
export async function bringUp(system: System, good: GoodConfig, deadlineMs: number): Promise<void> {
  const boot = isBooting(system);
  const open = readJournal(system);
  if (open !== undefined) await goBack(system, open, good, nothing);
  await activate(system, { effects: new Set(), running: good.running, boot, deadlineMs });
  await verifyRunning(system, good.running, { deadlineMs, boot });
}

/** Returns the journal of this exact config, if a crash left it open. Undoes that of another one. */
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

/** Restores the files of the last good config, and its services; at a boot nothing runs yet, and nothing is started. */
async function goBack(
  system: System,
  journal: Journal,
  good: GoodConfig | undefined,
  started: RunningState,
): Promise<void> {
  await undoChanges(system, journal);
  await closeJournal(system);
  if (isBooting(system)) return followFiles(system, new Set(journal.effects), good?.running ?? nothing);
  if (good === undefined) return stopAll(system, started);
  const surplus = started.start.filter((unit) => !good.running.start.includes(unit));
  const effects = new Set<Effect>([...journal.effects, ...surplus.map((unit): Effect => `stop:${unit}`)]);
  await activate(system, { effects, running: good.running, boot: false });
  await verifyRunning(system, good.running, { deadlineMs: goBackDeadlineMs, boot: false });
}

/** Reports the cause even if reverting fails as well; the next start continues with it. */
async function goBackAfter(cause: unknown, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (!(cause instanceof Error) || !(thrown instanceof Error)) throw thrown;
    const message = `${cause.message} Reverting failed as well: ${thrown.message}`;
    const details = { wentBack: false };
    throw new ImagoError('node-apply-failed', message, { cause, retryable: true, details });
  }
}

/** Stops everything on a node without a good config. */
async function stopAll(system: System, { start }: RunningState): Promise<void> {
  system.remove(configuredPath);
  if (start.length > 0)
    await system.run(['systemctl', 'stop', ...start.toReversed()], { timeoutMs: 180_000 });
  await prepareSwap(system, 0);
}
