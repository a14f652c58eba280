// What the agent remembers between its runs.

import type { NodeError } from '../../domain/node/report.ts';
import { isObject } from '../../domain/node-config/check-field.ts';
import type { Field } from '../../domain/node-config/field.ts';
import { type NodeConfig, nodeConfigSchema } from '../../domain/node-config/schema.ts';
import { attemptsPath, failedConfigPath, goodConfigPath } from '../system/paths.ts';
import { replaceFile, type System } from '../system/system.ts';
import type { Wishes } from './step.ts';

/** What must be true on a node beyond its files. */
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
  return read<GoodConfig>(system, goodConfigPath);
}

export function readFailed(system: System): FailedConfig | undefined {
  return read<FailedConfig>(system, failedConfigPath);
}

export function writtenGood(good: GoodConfig): string {
  return `${JSON.stringify(good)}\n`;
}

/** Where no change of files goes with it. A second call writes nothing. */
export async function writeGood(system: System, text: string): Promise<void> {
  if (system.readText(goodConfigPath) !== text) await replaceFile(system, goodConfigPath, text, 0o600);
}

/** A config is in force: what others came to is of no interest any more. */
export function forgetFailures(system: System): void {
  for (const path of [failedConfigPath, attemptsPath]) system.remove(path);
}

/**
 * Called when an apply is found that was cut off; says how often the config was tried then, this time included. Kept
 * durably: what takes the power away takes what is not on the disk along.
 */
export async function countAttempt(system: System, digest: string): Promise<number> {
  const before = read<{ readonly digest: string; readonly count: number }>(system, attemptsPath);
  const count = (before?.digest === digest ? before.count : 1) + 1;
  await replaceFile(system, attemptsPath, `${JSON.stringify({ digest, count })}\n`, 0o600);
  return count;
}

export async function writeFailed(system: System, failed: FailedConfig): Promise<void> {
  await replaceFile(system, failedConfigPath, `${JSON.stringify(failed)}\n`, 0o600);
}

/** Only the agent writes these, whole or not at all; one that is damaged counts as none. */
function read<T>(system: System, path: string): T | undefined {
  const text = system.readText(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}

export function runningState(wishes: Wishes): RunningState {
  return {
    start: [...wishes.start].filter((unit) => !wishes.stop.has(unit)),
    stop: [...wishes.stop],
    modules: [...wishes.modules],
    kernelValues: [...wishes.kernelValues],
    metadataClosed: wishes.metadataClosed,
    ...(wishes.swapMiB === 0 ? {} : { swapMiB: wishes.swapMiB }),
  };
}

/** Stands where a secret stood; two configs that differ in secrets alone are alike. */
const withheld = 'secret:withheld';

export function isWithheld(text: string): boolean {
  return text === withheld;
}

export function withoutSecrets(config: NodeConfig): NodeConfig {
  return withhold(nodeConfigSchema, config) as NodeConfig;
}

function withhold(field: Field | undefined, value: unknown): unknown {
  if (field === undefined) return value;
  if (field.secret === true) return withheld;
  if (field.type === 'list' && Array.isArray(value)) return value.map((item) => withhold(field.items, item));
  if (!isObject(value)) return value;
  if (field.type !== 'object' && field.type !== 'map') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      withhold(field.type === 'map' ? field.values : field.fields[key], item),
    ]),
  );
}
