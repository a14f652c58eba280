// Why a new version is made: a new artifact, a new configuration of the system, or a better delivery of the
// same. A hotfix by node config may do instead of the third.

import { componentTexts, sourceOf } from '../recipe/recipe.ts';
import { expandOne } from '../recipe/variables.ts';
import type { Json } from '../value/json.ts';
import { type InputChange, inputChanges, type ValueChange, valueChanges } from './changes.ts';
import type { Lock, LockedInput } from './lock.ts';

export const versionReasons = ['artifact', 'configuration', 'delivery', 'description'] as const;
/** `description` is what never reaches the disk: tests, budgets, notes, where updates are looked for. */
export type VersionReason = (typeof versionReasons)[number];

export interface ReasonedChange {
  readonly reason: VersionReason;
  /** `runc 1.1.15 → 1.1.16`, or the place of a setting with both values. */
  readonly sentence: string;
}

export interface WhyVersion {
  /** The strongest that applies; absent when the locks are the same. */
  readonly reason?: VersionReason;
  readonly changes: readonly ReasonedChange[];
  /** What to tell about it. */
  readonly sentence: string;
}

const sentences = {
  artifact: 'A new version is needed: what is on the node changed.',
  configuration: 'A new version is needed: the system is configured differently.',
  delivery:
    'Only the delivery changed: the same things get onto the node in another way. ' +
    'A hotfix by node config may do instead of a new version.',
  description:
    'Only what is said about the image changed: on the disk nothing differs but the lock that /etc/imago-release names.',
} as const satisfies Record<VersionReason, string>;

export function whyVersion(before: Lock, after: Lock): WhyVersion {
  const inputs = inputChanges(before, after);
  const known = new Set(inputs.map(({ name }) => name));
  const secret = new Set([before, after].flatMap(privateNames));
  const values = valueChanges(before.recipe, after.recipe);
  const changes = [
    ...inputs.map((input) => reasonInput(input, secret)),
    ...values.filter(({ path }) => !isVersionOf(known, path)).map((value) => reasonValue(value, secret)),
    ...(['rules', 'epoch'] as const).flatMap((key) =>
      before[key] === after[key]
        ? []
        : [{ reason: 'delivery' as const, sentence: `build ${key} ${before[key]} → ${after[key]}` }],
    ),
  ];
  const reason = versionReasons.find((kind) => changes.some((change) => change.reason === kind));
  if (reason === undefined) return { changes, sentence: 'Nothing changed.' };
  return { reason, changes, sentence: sentences[reason] };
}

function reasonInput(change: InputChange, secret: ReadonlySet<string>): ReasonedChange {
  return { reason: inputReason(change), sentence: inputSentence(change, secret.has(change.name)) };
}

function inputReason({ kind, before = [], after = [] }: InputChange): VersionReason {
  const onNode = (inputs: readonly LockedInput[]) =>
    inputs.filter(({ sets }) => sets === undefined || sets.some((set) => set !== 'tools'));
  const content = (inputs: readonly LockedInput[]) =>
    onNode(inputs)
      .map(({ sha256 }) => sha256)
      .sort()
      .join();
  if (content(before) === content(after)) return 'delivery';
  return kind === 'config' ? 'configuration' : 'artifact';
}

function inputSentence({ name, before, after }: InputChange, isNamed: boolean): string {
  const secret = isNamed || [...(before ?? []), ...(after ?? [])].some((input) => input.private === true);
  const versions = (inputs: readonly LockedInput[]) => inputs.map(({ version }) => version).join(', ');
  const who = secret ? 'a private input' : name;
  if (before === undefined) return secret ? `${who} is new` : `${who} ${versions(after ?? [])} is new`;
  if (after === undefined) return `${who} is gone`;
  if (secret) return `${who} changed`;
  const [was, is] = [versions(before), versions(after)];
  if (was !== is) return `${who} ${was} → ${is}`;
  const same = before.map(({ sha256 }) => sha256).join() === after.map(({ sha256 }) => sha256).join();
  return same ? `${who} ${is} comes from elsewhere` : `${who} ${is} has other content`;
}

const described = new Set(['tests', 'budgets', 'expect', 'notes', 'numbering']);
/** Fields of a component that say how it gets onto the node, not what the node is then like. */
const delivered = new Set(['from', 'private']);

/** The version of a component whose input is told already. */
function isVersionOf(known: ReadonlySet<string>, [first, name = '', field]: readonly string[]): boolean {
  return first === 'components' && known.has(name) && (field === 'version' || field === 'versions');
}

/** With those of the packages and texts of private components: older locks do not say whose these are. */
function privateNames({ recipe }: Lock): readonly string[] {
  const patches = recipe.windows?.patches ?? [];
  const components = expandOne(recipe).components.filter((component) => component.private === true);
  return [
    ...components.flatMap((component) => {
      const source = sourceOf(component);
      return [component.name, ...componentTexts(component), ...('package' in source ? [source.package] : [])];
    }),
    ...(recipe.images ?? []).filter((image) => image.private === true).map(({ name }) => name),
    ...patches.filter((patch) => patch.private === true).map(({ kb }) => kb),
  ];
}

function reasonValue(change: ValueChange, secret: ReadonlySet<string>): ReasonedChange {
  const sentence = change.path.some((key) => secret.has(key))
    ? 'what is said about a private input changed'
    : `${change.path.join('.')} ${show(change.before)} → ${show(change.after)}`;
  return { reason: valueReason(change), sentence };
}

function valueReason({ path: [first = '', second = '', third = ''] }: ValueChange): VersionReason {
  if (described.has(first)) return 'description';
  if (first === 'components' && third === 'updates') return 'description';
  if ((first === 'components' || first === 'images') && delivered.has(third)) return 'delivery';
  return first === 'base' && /irror$/.test(second) ? 'delivery' : 'configuration';
}

function show(value: Json | undefined): string {
  if (value === undefined) return '(nothing)';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
