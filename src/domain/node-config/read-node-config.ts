// Reads a node config: from text or a parsed value to a checked document, or to every problem.
import { ImagoError } from '../error/imago-error.ts';
import { type CheckRules, checkField, isObject } from './check-field.ts';
import { configRuleProblems } from './config-rules.ts';
import { type ConfigProblem, configError, type FieldPath } from './problem.ts';
import { currentSchemaVersion, type NodeConfig, nodeConfigSchema } from './schema.ts';

export interface ReadConfig {
  readonly config: NodeConfig;
  /** Unknown fields that were passed over, by their paths. */
  readonly ignored: readonly FieldPath[];
}

export type { CheckRules } from './check-field.ts';

/** What people write and what is stored about pools. */
export const strictRules: CheckRules = { unknown: 'refuse', secrets: 'either' };
/** What is recorded: secrets are named, never held. */
export const storedRules: CheckRules = { unknown: 'refuse', secrets: 'named' };
/** What a node is given. */
export const nodeRules: CheckRules = { unknown: 'ignore', secrets: 'plain' };

/** The instance metadata holds 64 KiB in base64. */
export const maxUserDataBytes = 64 * 1024;
export const maxConfigBytes = (maxUserDataBytes / 4) * 3;

/** Returns every problem of a parsed document, and `read` if it has none. */
export function checkNodeConfig(
  value: unknown,
  rules: CheckRules,
): { readonly problems: readonly ConfigProblem[]; readonly read?: ReadConfig } {
  const version = versionProblem(value);
  if (version !== undefined) return { problems: [version] };
  const findings = checkField(nodeConfigSchema, value, rules);
  if (findings.problems.length > 0) return { problems: findings.problems };
  const config = value as NodeConfig;
  const problems = configRuleProblems(config);
  return problems.length > 0 ? { problems } : { problems, read: { config, ignored: findings.ignored } };
}

function versionProblem(value: unknown): ConfigProblem | undefined {
  if (!isObject(value)) return { path: [], message: 'must be an object' };
  const { schemaVersion } = value;
  const path = ['schemaVersion'];
  const hint = `Write \`"schemaVersion": ${currentSchemaVersion}\`.`;
  if (schemaVersion === undefined) return { path, message: 'is missing', hint };
  if (schemaVersion === currentSchemaVersion) return undefined;
  if (typeof schemaVersion !== 'number') return { path, message: 'must be a number', hint };
  return {
    path,
    message: `is ${schemaVersion}, and this Imago reads ${currentSchemaVersion}`,
    hint: schemaVersion > currentSchemaVersion ? 'Use a newer Imago or image.' : hint,
  };
}

/** Throws `node-config-invalid` with every problem, never with a secret. */
export function readNodeConfig(text: string, rules: CheckRules): ReadConfig {
  const bytes = utf8Length(text);
  if (bytes > maxConfigBytes) {
    throw new ImagoError(
      'node-config-too-big',
      `The node config has ${bytes} bytes, and ${maxConfigBytes} fit into the instance metadata.`,
    );
  }
  const { problems, read } = checkNodeConfig(parseJson(text), rules);
  if (read === undefined) throw configError(problems);
  return read;
}

function parseJson(text: string): unknown {
  if (text.trim() === '') throw configError([{ path: [], message: 'is empty' }]);
  try {
    return JSON.parse(text);
  } catch {
    // What the engine says repeats the text, which may hold a secret.
    throw configError([{ path: [], message: 'is not JSON' }]);
  }
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
