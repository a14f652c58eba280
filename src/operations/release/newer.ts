// Begins a release only when there is something newer: looks the newest of every input up, and does nothing when a
// version was made of just these. Meant for the clock and for events; while an older release waits for people, what is
// newer does not wait behind it but overtakes it.

import * as z from 'zod';
import type { Lock } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { recipeFields } from '../build/input.ts';
import { callOptions, type OperationDeps, requireRole } from '../common/deps.ts';
import { releaseMatrixOperation } from './matrix.ts';
import { releaseOperation } from './release.ts';

/** Read as a build reads it: the lock is made of what is filled in, too. */
const variant = z.looseObject({ recipe: recipeFields });

const newerInput = z.object({
  kind: z.enum(['release', 'release-matrix']),
  subject: z.string(),
  /** Of the release: one recipe, or the variants of a matrix. */
  input: z.looseObject({ provider: z.string().optional() }),
});
export type ReleaseNewerInput = z.infer<typeof newerInput>;

const lookSentence = 'Look the newest of every input up, and end when there is a version of just these.';

interface Looked {
  readonly newer: boolean;
  /** The newest locks, in the order of the variants; empty when nothing is newer. */
  readonly locks: readonly Json[];
  /** Of all locks together. */
  readonly digest: string;
}

export function releaseNewerOperation(deps: OperationDeps): OperationKind<ReleaseNewerInput> {
  const kinds = { release: releaseOperation(deps), 'release-matrix': releaseMatrixOperation(deps) };
  return {
    kind: 'release-newer',
    parse(input) {
      const parsed = parseInput(newerInput, input);
      kinds[parsed.kind].parse(parsed.input as unknown as Json);
      variantsOf(parsed);
      return parsed;
    },
    async plan({ kind, input }, by) {
      const one = kinds[kind] as OperationKind<unknown>;
      const lines = await one.plan(one.parse(input as unknown as Json), by);
      return [lookSentence, ...lines];
    },
    async foresee({ kind, input }, by) {
      const one = kinds[kind] as OperationKind<unknown>;
      const newest = one.parse({ ...input, newest: true } as unknown as Json);
      return [`look: ${lookSentence}`, ...((await one.foresee?.(newest, by)) ?? [])];
    },
    steps: () => [lookStep(deps), startStep(deps)],
    result: (context) => ({
      newer: requireResult<Looked>(context, 'look').newer,
      ...requireResult<{ readonly release: string | null }>(context, 'start'),
    }),
  };
}

function variantsOf({ kind, input }: ReleaseNewerInput): readonly z.infer<typeof variant>[] {
  return kind === 'release'
    ? [parseInput(variant, input as unknown as Json)]
    : parseInput(z.array(variant).min(1), (input as { readonly variants?: Json }).variants ?? null);
}

function lookStep(deps: OperationDeps): WorkStep<ReleaseNewerInput> {
  return {
    name: 'look',
    async do(context) {
      const locks: Json[] = [];
      const digests: string[] = [];
      let newer = false;
      for (const { recipe } of variantsOf(context.input)) {
        const lock = await lockNewest(deps, context, recipe as Recipe);
        const digest = `sha256:${deps.sha256(canonicalJson(lock))}`;
        newer ||= (await deps.catalogue.findVersionByLock(recipe.name, digest)) === undefined;
        locks.push(lock);
        digests.push(digest);
      }
      return { newer, locks: newer ? locks : [], digest: deps.sha256(digests.join('\n')) };
    },
  };
}

function lockNewest(
  deps: OperationDeps,
  context: StepContext<ReleaseNewerInput>,
  recipe: Recipe,
): Promise<Lock> {
  const builder = requireRole(deps.provider(context.input.input.provider), 'builder');
  const options = callOptions(deps, context.signal);
  return builder.tools === undefined
    ? builder.lock(recipe, context, options)
    : builder.tools.relock(recipe, context, options);
}

/**
 * Begins the release with the locks that were found, and does not wait for it: it may wait for people, and the next look
 * must not. The key is that of the locks: the same again waits its turn, anything newer does not.
 */
function startStep(deps: OperationDeps): WorkStep<ReleaseNewerInput> {
  return {
    name: 'start',
    async do(context) {
      const { newer, locks, digest } = requireResult<Looked>(context, 'look');
      if (!newer) return { release: null };
      const { kind, subject, input } = context.input;
      const variants = variantsOf(context.input).map((one, index) => ({ ...one, lock: locks[index] }));
      const locked = kind === 'release' ? variants[0] : { variants };
      const { id, by, osUser } = context.operation;
      const started = await deps.desk().submit({
        ...{ kind, subject, by, osUser, id: `${id}.release`, key: `${subject}@${digest}` },
        input: { ...input, ...locked, newest: false } as unknown as Json,
      });
      return { release: started.id };
    },
  };
}
