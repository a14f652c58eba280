// The agent as a whole: what it does at a start, when it looks for a new config, and when it is told to go on.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { NodeError } from '../domain/node/report.ts';
import { neededAbilities, requireAbilities } from '../domain/node-config/capabilities.ts';
import { isObject } from '../domain/node-config/check-field.ts';
import type { Field } from '../domain/node-config/field.ts';
import { nodeRules, readNodeConfig } from '../domain/node-config/read-node-config.ts';
import { nodeConfigSchema } from '../domain/node-config/schema.ts';
import { type ComponentReceipt, receiptPath } from '../install/receipt.ts';
import { applyConfig, bringUp, gate, isBooting, recover, type WantedConfig } from './apply/apply.ts';
import { createFetcher, createOutside } from './apply/fetch.ts';
import { offeredAbilities } from './capabilities.ts';
import { readFailed, readGood, writeFailed } from './desired/state.ts';
import { makeHostKeys, sealIdentity, settleIdentity } from './identity.ts';
import { createMetadataService, decodeUserData, type Instance } from './metadata/metadata.ts';
import { waitForRoute } from './metadata/network.ts';
import { quickFacts } from './metadata/quick-check.ts';
import { createPlatform, type Platform } from './metadata/wire-server.ts';
import { nodeError, type Reporter } from './report/reporter.ts';
import type { AgentSettings } from './settings.ts';
import { bootstrapPath, isRegistered } from './steps/kubelet.ts';
import { hasRest, startRest } from './system/deferred-units.ts';
import { bootIdPath, journalFolder, lockPath, quickPath, runFolder } from './system/paths.ts';
import { digestOfText } from './system/sha256.ts';
import { type Release, replaceRunFile, type System } from './system/system.ts';

export interface Agent {
  /** Recovers, finds out which machine this is, and makes the identity its own. Throws what keeps it from that. */
  start(): Promise<void>;
  /** Looks for a config and applies it if it is a new one. Never throws: how it ended is in the report. */
  look(options?: LookOptions): Promise<void>;
  /** Whoever runs the node has made room for a change of that cost. */
  allow(cost: 'restart' | 'drain', digest: string): void;
  /** There is no room any more. What was applied by then stays. */
  deny(digest: string): void;
}

export interface LookOptions {
  /** Also when the config is the one that was looked at last. */
  readonly again?: boolean;
}

/** A config that failed for a reason that may pass is tried this often in a boot. */
const mostTries = 5;
const lockWaitMs = 600_000;

export function createAgent(system: System, settings: AgentSettings, reporter: Reporter): Agent {
  const metadata = createMetadataService(system, settings.metadataUrl);
  let instance: Instance | undefined;
  let firstUserData: string | undefined;
  let lastSeen: string | undefined;
  let allowed: { readonly digest: string; readonly cost: 'restart' | 'drain' } | undefined;
  let lookAnew = false;
  let restStarted = false;
  let unsealed = false;
  let platform: Platform | undefined;
  /** Kept from the identity to the first config: taking it twice costs the start of two programs. */
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
      letGo();
      throw thrown;
    }
    if (userData === undefined) letGo();
  }

  async function openToOthers(): Promise<void> {
    await seal();
    await makeHostKeys(system);
    await startIfEnabled(system, 'ssh.service');
  }

  async function takeLock(): Promise<Release> {
    const release = kept ?? (await system.lock(lockPath, lockWaitMs));
    if (release !== undefined) return release;
    throw new ImagoError('node-apply-failed', 'Another run of the agent does not end.');
  }

  function letGo(): void {
    kept?.();
    kept = undefined;
  }

  async function locked<T>(work: () => Promise<T>): Promise<T> {
    kept = await takeLock();
    try {
      return await work();
    } finally {
      letGo();
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
      // A node that is ready stays so when the service is away for a while.
      if (lastSeen === undefined) await refuse(nodeError(thrown), undefined);
      return;
    }
    reporter.mark('config read');
    if (userData === lastSeen && !again && !lookAnew) return;
    lastSeen = userData;
    lookAnew = false;
    try {
      await locked(() => take(userData));
    } catch (thrown) {
      await refuse(nodeError(thrown), undefined);
    }
  }

  async function take(userData: string): Promise<void> {
    let wanted: WantedConfig;
    try {
      wanted = await readWanted(system, userData, reporter);
    } catch (thrown) {
      return refuse(nodeError(thrown), undefined);
    }
    const good = readGood(system);
    const { pending, waiting } = gate(good, wanted, allowedCosts(wanted));
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
        wanted,
        name,
        fetcher,
        outside,
        reporter,
        readyDeadlineMs,
      });
      const quick = quickFacts(system, userData, rendered.paths, rendered.running.start);
      replaceRunFile(system, quickPath, JSON.stringify(quick), 0o600);
      reporter.mark('ready');
      const done = { error: undefined, wanted: undefined, waiting: undefined, pending: [] } as const;
      reporter.update({ phase: 'ready', config: ref, ...done });
      await settle();
    } catch (thrown) {
      const error = nodeError(thrown);
      // Nothing is known to run then: the config that was is brought up anew before the node is ready again.
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

  function bootId(): string {
    return system.readText(bootIdPath)?.trim() ?? 'unknown';
  }

  /** A node that has nothing to go back to tries anew after each boot. */
  function mayTryAgain(
    failed: { bootId: string; tries: number; error: NodeError },
    hasGood: boolean,
  ): boolean {
    if (failed.error.retry && failed.tries < mostTries) return true;
    return !hasGood && failed.bootId !== bootId();
  }

  async function noteFailure(digest: string, error: NodeError): Promise<void> {
    if (readGood(system)?.digest === digest) return;
    const before = readFailed(system);
    const same = before?.digest === digest && before.bootId === bootId();
    try {
      await writeFailed(system, { digest, error, bootId: bootId(), tries: same ? before.tries + 1 : 1 });
    } catch (thrown) {
      system.log(`the failure could not be noted: ${nodeError(thrown).message}`);
    }
  }

  /** The config in force goes on; at a boot it is brought up first. */
  async function refuse(error: NodeError, wanted: WantedConfig | undefined): Promise<void> {
    const good = readGood(system);
    const isOther = wanted !== undefined && wanted.ref.digest !== good?.digest;
    if (isOther) reporter.update({ wanted: wanted.ref });
    if (good === undefined || instance === undefined) {
      reporter.update({ phase: 'failed', config: undefined, error });
    } else await goOn(error);
  }

  async function hold(): Promise<void> {
    if (isBooting(system) || reporter.current().phase !== 'ready') await goOn(undefined);
  }

  async function goOn(error: NodeError | undefined): Promise<void> {
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
      // What was good once may only be slow to come up.
      reporter.update({ phase: 'failed', config, error: { ...nodeError(thrown), retry: true } });
    }
  }

  return {
    start,
    async look(options) {
      await look(options);
      await housekeep();
    },
    allow(cost, digest) {
      allowed = { cost, digest };
      lookAnew = true;
    },
    deny(digest) {
      if (allowed?.digest === digest) allowed = undefined;
    },
  };

  async function housekeep(): Promise<void> {
    if (system.facts(bootstrapPath) !== undefined && isRegistered(system)) {
      system.remove(bootstrapPath);
    }
    const { phase, error } = reporter.current();
    if (phase !== 'ready' && phase !== 'failed') return;
    if (!restStarted) await finishBoot();
    await platform?.tell(phase === 'ready' ? { ready: true } : { ready: false, why: error?.message ?? '' });
  }

  /** Whoever waits for the rest of the system does not wait for a platform that may not be there. */
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

/** Throws when the config cannot be used on this image, never with what a secret says. */
export async function readWanted(
  system: System,
  userData: string,
  reporter: Reporter,
): Promise<WantedConfig> {
  const text = decodeUserData(userData);
  const { config, ignored } = readNodeConfig(text, nodeRules);
  reporter.hide(secretsOf(config));
  if (ignored.length > 0) system.log(`fields that this agent does not know: ${ignored.join(', ')}`);
  const requires = [...new Set([...(config.requires ?? []), ...neededAbilities(config)])];
  requireAbilities(requires, offeredAbilities(system), (name) => versionsOf(system, name));
  const digest = await digestOfText(system, text);
  return { config, ref: { digest, schemaVersion: String(config.schemaVersion) } };
}

function versionsOf(system: System, component: string): readonly string[] {
  const text = system.readText(receiptPath(component));
  return text === undefined
    ? []
    : (JSON.parse(text) as ComponentReceipt).versions.map(({ version }) => version);
}

/** It waits for the identity; at a later start of the agent it runs already. */
async function startIfEnabled(system: System, unit: string): Promise<void> {
  const enabled = ['/etc/systemd/system', '/usr/lib/systemd/system'].some(
    (folder) => system.facts(`${folder}/multi-user.target.wants/${unit}`) !== undefined,
  );
  if (enabled) await system.run(['systemctl', 'start', '--no-block', unit]);
}

/** Returns the texts of a config that must never be shown. */
function secretsOf(config: unknown): readonly string[] {
  return collect(nodeConfigSchema, config);
}

function collect(field: Field | undefined, value: unknown): readonly string[] {
  if (field === undefined) return [];
  if (field.secret === true) return typeof value === 'string' && value.length > 3 ? [value] : [];
  if (field.type === 'list' && Array.isArray(value))
    return value.flatMap((item) => collect(field.items, item));
  if (!isObject(value) || (field.type !== 'object' && field.type !== 'map')) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    collect(field.type === 'map' ? field.values : field.fields[key], item),
  );
}
