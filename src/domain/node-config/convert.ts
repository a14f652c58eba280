// Ways between the versions of the node config. Up always succeeds; down is refused when the older version cannot
// say something, with the fields that would be lost.
import { ImagoError } from '../error/imago-error.ts';
import { type CheckRules, checkField, type Findings, isObject } from './check-field.ts';
import { planChanges } from './plan-changes.ts';
import { currentSchemaVersion, type NodeConfig } from './schema.ts';
import { fromPreview, type PreviewConfig, previewSchema, toPreview } from './schema-v0.ts';

interface OlderVersion {
  /** What is wrong with a document of this version. */
  check(value: unknown, rules: CheckRules): Findings;
  /** Of a document that was checked. */
  up(value: unknown): NodeConfig;
  /** What this version can say of a config. */
  down(config: NodeConfig): Readonly<Record<string, unknown>>;
}

const preview: OlderVersion = {
  check: (value, rules) => checkField(previewSchema, value, rules),
  up: (value) => fromPreview(value as PreviewConfig),
  down: (config) => ({ ...toPreview(config) }),
};

const olderVersions: ReadonlyMap<number, OlderVersion> = new Map([[0, preview]]);

/** A document of an older version that was found good, in the current one. */
export type Upgraded = { readonly document: unknown } | { readonly findings: Findings };

/** The same document when it is of the current version, or of one that nobody knows. */
export function upgradeConfig(value: unknown, rules: CheckRules): Upgraded {
  const version = isObject(value) ? value.schemaVersion : undefined;
  const older = typeof version === 'number' ? olderVersions.get(version) : undefined;
  if (older === undefined) return { document: value };
  const findings = older.check(value, rules);
  return findings.problems.length > 0 ? { findings } : { document: older.up(value) };
}

/** Throws `node-config-version` when there is no such version, or when something would be lost. */
export function downgradeConfig(config: NodeConfig, to: number): Readonly<Record<string, unknown>> {
  if (to === currentSchemaVersion) return { ...config };
  const older = olderVersions.get(to);
  if (older === undefined) {
    const known = [...olderVersions.keys(), currentSchemaVersion].join(', ');
    throw new ImagoError('node-config-version', `There is no version ${to} of the node config.`, {
      hint: `There are: ${known}.`,
    });
  }
  const document = older.down(config);
  const lost = planChanges(older.up(document), config).map(({ field }) => field);
  const requires = config.requires ?? [];
  if (requires.length > 0) lost.unshift('requires');
  if (lost.length === 0) return document;
  throw new ImagoError(
    'node-config-version',
    `Version ${to} of the node config cannot say ${lost.join(', ')}.`,
    {
      details: { lost },
    },
  );
}
