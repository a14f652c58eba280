// The agent: what it does at a start, when it checks for a new config, and when it is allowed to apply one.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { NodeError } from '../domain/node/report.ts';
import {
  abilitiesPath,
  agentAbilities,
  type ImageAbilities,
  neededAbilities,
  requireAbilities,
} from '../domain/node-config/capabilities.ts';
import { nodeRules, readNodeConfig } from '../domain/node-config/read-node-config.ts';
import type { NodeWords } from '../domain/node-config/words.ts';
import {
  applyConfig,
  bringUp,
  isBooting,
  pendingChanges,
  recover,
  type WantedConfig,
} from './apply/apply.ts';
import { createFetcher, createOutside } from './apply/fetch.ts';
import { readFailed, readGood, secretsOf, writeFailed } from './desired/state.ts';
import { makeHostKeys, sealIdentity, settleIdentity } from './identity.ts';
import { createMetadataService, decodeUserData, type Instance } from './metadata/metadata.ts';
import { waitForRoute } from './metadata/network.ts';
import { quickFacts } from './metadata/quick-check.ts';
import { createPlatform, type Platform } from './metadata/wire-server.ts';
import { nodeError, type Reporter } from './report/reporter.ts';
import type { AgentSettings } from './settings.ts';
import { readReceipt } from './steps/components.ts';
import { bootstrapPath, isRegistered } from './steps/kubelet.ts';
import { hasRest, startRest } from './system/deferred-units.ts';
import { journalFolder, lockPath, quickPath, runFolder } from './system/paths.ts';
import { digestOfText } from './system/sha256.ts';
import { bootIdOf, type Release, replaceRunFile, type System } from './system/system.ts';

export interface Agent {
  /** Recovers, determines which machine this is, and settles its identity. Throws if it cannot. */
  start(): Promise<void>;
  /** Checks for a config and applies it if it is new. Never throws: the outcome is in the report. */
  look(options?: LookOptions): Promise<void>;
  /** The operator of the node allows a change of that cost. */
  allow(cost: 'restart' | 'drain', digest: string): void;
  /** The change is no longer allowed. What was applied by then stays. */
  deny(digest: string): void;
}

export interface LookOptions {
  /** Even if the config is the last one that was checked. */
  readonly again?: boolean;
}

/** A config that failed for a transient reason is tried this often in a boot. */
const maxTries = 5;
const lockWaitMs = 600_000;

/** `onCommand` gets the script that the userData contains, each time that it is read. */
export function createAgent(
  system: System,
  settings: AgentSettings,
  reporter: Reporter,
  onCommand: (command: NonNullable<NodeWords['command']>) => void = () => undefined,
): Agent {
  const metadata = createMetadataService(system, settings.metadataUrl);
  let instance: Instance | undefined;
  let firstUserData: string | undefined;
  let lastSeen: string | undefined;
  let allowed: { readonly digest: string; readonly cost: 'restart' | 'drain' } | undefined;
  let checkAgain = false;
  let restStarted = false;
  let unsealed = false;
  let platform: Platform | undefined;
  /** Held from the identity to the first config: locking twice costs the start of two processes. */
  let kept: Release | undefined;

  async function start(): Promise<void> {
    system.makeFolder(runFolder);
    if (system.facts(journalFolder) !== undefined) await locked(() => recover(system));
    await waitForRoute(system, settings.metadataDeadlineMs);
    reporter.mark('network');
    instance = await metadata.instance(settings.metadataDeadlineMs);
    const { machineId, name, userData } = instance;
    firstUserData = userData;
    reporter.update({ machineId });
    platform = createPlatform(system, settings.wireServerUrl, machineId);
    kept = await takeLock();
    try {
      const kind = await reporter.step('identity', () => settleIdentity(system, { machineId, name }));
      unsealed ||= kind === 'first';
      if (!hasRest(system)) await openToOthers();
    } catch (thrown) {
      release();
      throw thrown;
    }
    if (userData === undefined) release();
  }

  async function openToOthers(): Promise<void> {
    await seal();
    await makeHostKeys(system);
    await startIfEnabled(system, 'ssh.service');
  }

  async function takeLock(): Promise<Release> {
    const lock = kept ?? (await system.lock(lockPath, lockWaitMs));
    if (lock !== undefined) return lock;
    throw new ImagoError('node-apply-failed', 'Another run of the agent does not finish.');
  }

  function release(): void {
    kept?.();
    kept = undefined;
  }

  async function locked<T>(work: () => Promise<T>): Promise<T> {
    kept = await takeLock();
    try {
      return await work();
    } finally {
      release();
    }
  }

  async function seal(): Promise<void> {
    if (unsealed) await sealIdentity(system);
    unsealed = false;
  }

  async function look({ again = false }: LookOptions = {}): Promise<void> {
    if (instance === undefined) return;
    let userData: string;
    try {
      const deadlineMs = lastSeen === undefined ? settings.metadataDeadlineMs : 20_000;
      userData = firstUserData ?? (await metadata.userData(deadlineMs));
      firstUserData = undefined;
    } catch (thrown) {
      // A ready node stays ready if the service is unreachable for a while.
      if (lastSeen === undefined) await refuse(nodeError(thrown), undefined);
      return;
    }
    reporter.mark('config read');
    const isOther = userData !== lastSeen;
    const isOtherConfig = isOther && hear(userData);
    lastSeen = userData;
    if (!isOtherConfig && !again && !checkAgain) return;
    checkAgain = false;
    try {
      await locked(() => take(userData));
    } catch (thrown) {
      await refuse(nodeError(thrown), undefined);
    }
  }

  /** Does what the words say. Returns whether there is a config to check. */
  function hear(userData: string): boolean {
    const before = wordsOf(lastSeen ?? '');
    const { config, words } = wordsOf(userData);
    if (words.allow !== undefined) allow(words.allow.cost, words.allow.digest);
    else if (before.words.allow !== undefined) deny(before.words.allow.digest);
    if (words.command !== undefined) onCommand(words.command);
    return lastSeen === undefined || config === undefined || config !== before.config;
  }

  async function take(userData: string): Promise<void> {
    let wanted: WantedConfig;
    try {
      wanted = await readWanted(system, userData, reporter);
    } catch (thrown) {
      return refuse(nodeError(thrown), undefined);
    }
    const good = readGood(system);
    const { pending, waiting } = pendingChanges(good, wanted, allowedCosts(wanted));
    const isGood = good?.digest === wanted.ref.digest;
    reporter.update({ wanted: isGood ? undefined : wanted.ref, pending, waiting });
    if (waiting !== undefined) return hold();
    const failed = readFailed(system);
    if (failed?.digest === wanted.ref.digest && !mayTryAgain(failed, good !== undefined)) {
      return refuse({ ...failed.error, retry: false }, wanted);
    }
    await apply(wanted, userData);
  }

  async function apply(wanted: WantedConfig, userData: string): Promise<void> {
    const { config, ref } = wanted;
    const fetcher = createFetcher(system, config);
    const outside = createOutside(system, config, metadata, fetcher);
    const { phase } = reporter.current();
    if (phase !== 'ready') reporter.update({ phase: 'applying', error: undefined });
    const cancel = platform?.expect();
    try {
      const name = config.node?.name ?? instance?.name ?? 'localhost';
      const { readyDeadlineMs } = settings;
      const { rendered, settle } = await applyConfig(system, {
        ...{ wanted, name, fetcher, outside, reporter, readyDeadlineMs },
      });
      const quick = quickFacts(system, userData, rendered.paths, rendered.running.start);
      replaceRunFile(system, quickPath, JSON.stringify(quick), 0o600);
      reporter.mark('ready');
      const done = { error: undefined, wanted: undefined, waiting: undefined, pending: [] } as const;
      reporter.update({ phase: 'ready', config: ref, ...done });
      await settle();
    } catch (thrown) {
      const error = nodeError(thrown);
      // The state of services is unknown then: the previous config is started again before the node is ready.
      if (thrown instanceof ImagoError && thrown.details?.wentBack === false) {
        reporter.update({ phase: 'applying' });
      }
      await noteFailure(ref.digest, error);
      await refuse(error, wanted);
    } finally {
      cancel?.();
    }
  }

  function allowedCosts({ ref, config }: WantedConfig): ReadonlySet<'restart' | 'drain'> {
    const costs = new Set<'restart' | 'drain'>();
    if (isBooting(system) || config.policy?.restart !== 'hold') costs.add('restart');
    if (allowed?.digest !== ref.digest) return costs;
    costs.add('restart');
    return costs.add(allowed.cost);
  }

  /** A node without a good config retries after each boot. */
  function mayTryAgain(
    failed: { bootId: string; tries: number; error: NodeError },
    hasGood: boolean,
  ): boolean {
    if (failed.error.retry && failed.tries < maxTries) return true;
    return !hasGood && failed.bootId !== bootIdOf(system);
  }

  async function noteFailure(digest: string, error: NodeError): Promise<void> {
    if (readGood(system)?.digest === digest) return;
    const before = readFailed(system);
    const same = before?.digest === digest && before.bootId === bootIdOf(system);
    try {
      await writeFailed(system, {
        digest,
        error,
        bootId: bootIdOf(system),
        tries: same ? before.tries + 1 : 1,
      });
    } catch (thrown) {
      system.log(`the failure could not be recorded: ${nodeError(thrown).message}`);
    }
  }

  /** The active config stays active; at a boot it is started first. */
  async function refuse(error: NodeError, wanted: WantedConfig | undefined): Promise<void> {
    const good = readGood(system);
    const isOther = wanted !== undefined && wanted.ref.digest !== good?.digest;
    if (isOther) reporter.update({ wanted: wanted.ref });
    if (good === undefined || instance === undefined) {
      reporter.update({ phase: 'failed', config: undefined, error });
    } else await resume(error);
  }

  async function hold(): Promise<void> {
    if (isBooting(system) || reporter.current().phase !== 'ready') await resume(undefined);
  }

  async function resume(error: NodeError | undefined): Promise<void> {
    const good = readGood(system);
    if (good === undefined) return;
    const config = { digest: good.digest, schemaVersion: good.schemaVersion };
    try {
      if (isBooting(system) || reporter.current().phase !== 'ready') {
        await bringUp(system, good, settings.readyDeadlineMs);
      }
      reporter.mark('ready');
      reporter.update({ phase: 'ready', config, error });
    } catch (thrown) {
      // A config that was good once may only be slow to start.
      reporter.update({ phase: 'failed', config, error: { ...nodeError(thrown), retry: true } });
    }
  }

  return {
    start,
    async look(options) {
      await look(options);
      await housekeep();
    },
    allow,
    deny,
  };

  function allow(cost: 'restart' | 'drain', digest: string): void {
    allowed = { cost, digest };
    checkAgain = true;
  }

  function deny(digest: string): void {
    if (allowed?.digest === digest) allowed = undefined;
  }

  async function housekeep(): Promise<void> {
    if (system.facts(bootstrapPath) !== undefined && isRegistered(system)) {
      system.remove(bootstrapPath);
    }
    const { phase, error } = reporter.current();
    if (phase !== 'ready' && phase !== 'failed') return;
    if (!restStarted) await finishBoot();
    await platform?.tell(phase === 'ready' ? { ready: true } : { ready: false, why: error?.message ?? '' });
  }

  /** Starts the rest of the system without waiting for a platform that may not exist. */
  async function finishBoot(): Promise<void> {
    restStarted = true;
    try {
      await seal();
      await makeHostKeys(system);
    } catch (thrown) {
      system.log(nodeError(thrown).message);
    }
    await startRest(system);
  }
}

/** Nothing for userData that cannot be read, which is reported where the config is. */
function wordsOf(userData: string): { readonly config?: string; readonly words: NodeWords } {
  try {
    return decodeUserData(userData);
  } catch {
    return { words: {} };
  }
}

/** Throws if the config cannot be used on this image, never with the text of a secret. */
export async function readWanted(
  system: System,
  userData: string,
  reporter: Reporter,
): Promise<WantedConfig> {
  const { config: text } = decodeUserData(userData);
  const { config, ignored } = readNodeConfig(text, nodeRules);
  reporter.hide(secretsOf(config));
  if (ignored.length > 0) system.log(`fields unknown to this agent: ${ignored.join(', ')}`);
  const requires = [...new Set([...(config.requires ?? []), ...neededAbilities(config)])];
  requireAbilities(requires, offeredAbilities(system), (name) =>
    (readReceipt(system, name)?.versions ?? []).map(({ version }) => version),
  );
  const digest = await digestOfText(system, text);
  return { config, ref: { digest, schemaVersion: String(config.schemaVersion) } };
}

/** Returns the capabilities that the image declares and that this agent has. */
function offeredAbilities(system: System): ImageAbilities {
  const own = agentAbilities();
  const text = system.readText(abilitiesPath);
  if (text === undefined) return own;
  const { abilities } = JSON.parse(text) as ImageAbilities;
  return { ...own, abilities: own.abilities.filter((name) => abilities.includes(name)) };
}

/** Starts a unit that waits for the identity; at a later start of the agent it already runs. */
async function startIfEnabled(system: System, unit: string): Promise<void> {
  const enabled = ['/etc/systemd/system', '/usr/lib/systemd/system'].some(
    (folder) => system.facts(`${folder}/multi-user.target.wants/${unit}`) !== undefined,
  );
  if (enabled) await system.run(['systemctl', 'start', '--no-block', unit]);
}
