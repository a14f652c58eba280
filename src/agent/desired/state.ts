// What the agent stores between its runs.
import type { NodeError } from '../../domain/node/report.ts';
import { isObject } from '../../domain/node-config/check-field.ts';
import type { Field } from '../../domain/node-config/field.ts';
import { type NodeConfig, nodeConfigSchema } from '../../domain/node-config/schema.ts';
import { attemptsPath, failedConfigPath, goodConfigPath } from '../system/paths.ts';
import { readRecord, replaceFile, type System } from '../system/system.ts';
import type { DesiredServices } from './step.ts';

/** The desired state of a node beyond its files. */
export interface RunningState {
  readonly start: readonly string[];
  readonly stop: readonly string[];
  readonly modules: readonly string[];
  readonly kernelValues: readonly (readonly [path: string, value: string])[];
  readonly metadataClosed: boolean;
  /** Absent for none. */
  readonly swapMiB?: number;
}

export interface GoodConfig {
  readonly digest: string;
  readonly schemaVersion: string;
  /** Without its secrets. */
  readonly config: NodeConfig;
  readonly running: RunningState;
}

export interface FailedConfig {
  readonly digest: string;
  readonly bootId: string;
  readonly tries: number;
  readonly error: NodeError;
}

export function readGood(system: System): GoodConfig | undefined {
  return readRecord<GoodConfig>(system, goodConfigPath);
}

export function readFailed(system: System): FailedConfig | undefined {
  return readRecord<FailedConfig>(system, failedConfigPath);
}

export function writtenGood(good: GoodConfig): string {
  return `${JSON.stringify(good)}\n`;
}

/** Writes the good config if it comes without changes of files. A second call writes nothing. */
export async function writeGood(system: System, text: string): Promise<void> {
  if (system.readText(goodConfigPath) !== text) await replaceFile(system, goodConfigPath, text, 0o600);
}

/** Deletes the failures of other configs, once a config is active. */
export function forgetFailures(system: System): void {
  for (const path of [failedConfigPath, attemptsPath]) system.remove(path);
}

/**
 * Call it when an interrupted apply is found. Returns how often the config was tried, including this time. Stored durably,
 * because a power failure loses everything else.
 */
export async function countAttempt(system: System, digest: string): Promise<number> {
  const before = readRecord<{ readonly digest: string; readonly count: number }>(system, attemptsPath);
  const count = (before?.digest === digest ? before.count : 1) + 1;
  await replaceFile(system, attemptsPath, `${JSON.stringify({ digest, count })}\n`, 0o600);
  return count;
}

export async function writeFailed(system: System, failed: FailedConfig): Promise<void> {
  await replaceFile(system, failedConfigPath, `${JSON.stringify(failed)}\n`, 0o600);
}

export function runningState(services: DesiredServices): RunningState {
  return {
    start: [...services.start].filter((unit) => !services.stop.has(unit)),
    stop: [...services.stop],
    modules: [...services.modules],
    kernelValues: [...services.kernelValues],
    metadataClosed: services.metadataClosed,
    ...(services.swapMiB === 0 ? {} : { swapMiB: services.swapMiB }),
  };
}

/** Replaces a secret; two configs that differ only in secrets are equal. */
const withheld = 'secret:withheld';

export function isWithheld(text: string): boolean {
  return text === withheld;
}

export function withoutSecrets(config: NodeConfig): NodeConfig {
  return mapSecrets(nodeConfigSchema, config, () => withheld) as NodeConfig;
}

/** Returns the texts of a config that must never be shown. */
export function secretsOf(config: NodeConfig): readonly string[] {
  const secrets: string[] = [];
  mapSecrets(nodeConfigSchema, config, (value) => {
    if (typeof value === 'string' && value.length > 3) secrets.push(value);
    return value;
  });
  return secrets;
}

function mapSecrets(field: Field | undefined, value: unknown, map: (secret: unknown) => unknown): unknown {
  if (field === undefined) return value;
  if (field.secret === true) return map(value);
  if (field.type === 'list' && Array.isArray(value))
    return value.map((item) => mapSecrets(field.items, item, map));
  if (!isObject(value) || (field.type !== 'object' && field.type !== 'map')) return value;
  const below = (key: string) => (field.type === 'map' ? field.values : field.fields[key]);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapSecrets(below(key), item, map)]),
  );
}
