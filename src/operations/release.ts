// Release: from a recipe to production in one durable operation, made of others. What is so already is passed over,
// so a release of something that has not changed ends at once; before gates that time or people can open it waits.
import * as z from 'zod';
import { channelTakes } from '../domain/channel.ts';
import { ImagoError } from '../domain/errors.ts';
import { describeGate, isOpen, whenOpen } from '../domain/gate.ts';
import type { Json } from '../domain/json.ts';
import { compareAge } from '../domain/version.ts';
import type { VersionRecord } from '../ports/catalogue.ts';
import type { ChildStep, OperationKind, StepContext, UntilStep, WorkStep } from '../ports/operation.ts';
import { buildOperation, recipeCommit } from './build.ts';
import type { OperationDeps } from './deps.ts';
import { decide } from './gate-facts.ts';
import { parseInput } from './parse-input.ts';
import { publishStep } from './publish-step.ts';
import { reportStep } from './release-report.ts';
import { resolved } from './resolve-step.ts';
import { requireResult } from './step-result.ts';

const releaseInput = z.object({
  recipe: z.looseObject({ name: z.string() }),
  /** The lock that is committed beside the recipe. */
  lock: z.unknown().optional(),
  provider: z.string().optional(),
  bump: z.enum(['patch', 'minor', 'major']).optional(),
  newest: z.boolean().default(false),
  source: recipeCommit.optional(),
  /** Where it goes, in order. */
  channels: z.array(z.string()).min(1).default(['staging', 'production']),
  why: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
  waitMs: z
    .number()
    .int()
    .min(0)
    .default(3 * 86_400_000),
});
export type ReleaseInput = z.infer<typeof releaseInput>;

/** The topic on which a release that waits is told to look at its gates again. */
export const gatesTopic = 'gates';
/** Approvals wake it at once; this is for what nobody tells it. */
const longestLookMs = 10 * 60_000;

export function releaseOperation(deps: OperationDeps): OperationKind<ReleaseInput> {
  return {
    kind: 'release',
    parse(input) {
      const parsed = parseInput(releaseInput, input);
      const twice = parsed.channels.find((name, index) => parsed.channels.indexOf(name) !== index);
      if (twice === undefined) return parsed;
      throw new ImagoError('input-invalid', `Channel ${twice} stands twice in the way of the release.`);
    },
    async plan({ recipe, provider, channels, newest }, by) {
      const build = buildOperation(deps);
      const lines = await build.plan(build.parse({ recipe: recipe as Json, provider }), by);
      const image = await deps.catalogue.listChannels(recipe.name);
      for (const name of image.length === 0 ? [] : channels) requireMovable(recipe.name, name, image);
      return [
        ...(newest ? ['Take the newest of every input.'] : []),
        ...lines,
        'Boot it on fresh machines, and store the evidence.',
        'Publish it to the gallery.',
        ...channels.map((name) => `Wait for the gates of ${name}, and move it there.`),
        'What is so already is passed over.',
      ];
    },
    steps: ({ channels }) => [
      buildChild(),
      resolveStep(deps),
      testChild(),
      publishStep<ReleaseInput>(deps),
      ...channels.flatMap((channel) => [gatesStep(deps, channel), promoteChild(channel)]),
      reportStep(deps),
    ],
    result: (context) => requireResult<Json & object>(context, 'report'),
  };
}

function requireMovable(
  image: string,
  name: string,
  known: readonly { readonly name: string; readonly managed: boolean }[],
): void {
  const found = known.find((channel) => channel.name === name);
  if (found?.managed === false) return;
  throw found === undefined
    ? new ImagoError('channel-not-found', `Image ${image} has no channel ${name}.`, {
        hint: `See \`imago channel list ${image}\`.`,
      })
    : new ImagoError('channel-managed', `${image}:${name} is Imago's own and cannot be set.`);
}

function buildChild(): ChildStep<ReleaseInput> {
  return {
    name: 'build',
    child({ input: { recipe, lock, provider, bump, newest, source } }) {
      return {
        kind: 'build',
        subject: `image/${recipe.name}`,
        input: { recipe: recipe as Json, lock: lock as Json | undefined, provider, bump, newest, source },
      };
    },
  };
}

/** Left for the steps after it, as `resolveStep` of other operations does. */
function resolveStep(deps: OperationDeps): WorkStep<ReleaseInput> {
  return {
    name: 'resolve',
    async do(context) {
      const { image, version } = requireResult<{ image: string; version: string }>(context, 'build');
      const { digest, state } = await requireVersion(deps, image, version);
      return { reference: `${image}:${version}`, image, version, digest, state };
    },
  };
}

function testChild(): ChildStep<ReleaseInput> {
  return {
    name: 'test',
    child(context) {
      const { reference, state } = resolved(context);
      if (state !== 'candidate') return undefined;
      const { provider } = context.input;
      return { kind: 'test', subject: `image/${reference}`, input: { reference, provider } };
    },
  };
}

/** Ends when the gates are open, or fails when neither time nor people can open them. */
function gatesStep(deps: OperationDeps, channel: string): UntilStep<ReleaseInput> {
  return {
    name: `gates-${channel}`,
    topic: gatesTopic,
    patience: ({ input }) => ({ timeoutMs: input.waitMs }),
    async look(context) {
      const { image, version: number } = resolved(context);
      const version = await requireVersion(deps, image, number);
      const now = context.clock.now();
      const { result, channel: target } = await decide(deps, {
        ...{ version, channel, requester: context.operation.by, now },
      });
      if (target.version === number) return { done: { moves: false } };
      await requireCurrent(deps, context, version, target);
      const gates = result.gates.map((gate) => ({ ...gate }));
      if (result.passed) return { done: { moves: true, gates } };
      const closed = result.gates.filter((gate) => !isOpen(gate));
      const opens = whenOpen(result.gates);
      const sentence = `${image}:${number} waits before ${channel}: ${closed.map(describeGate).join('; ')}`;
      if (opens === undefined) {
        throw new ImagoError('gate-closed', `${sentence}.`, { details: { gates } });
      }
      return {
        sentence,
        againMs: opens === 'people' ? longestLookMs : Math.min(longestLookMs, opens - now),
      };
    },
  };
}

/** While it waited, something newer may have overtaken it, or it may have been taken out. */
async function requireCurrent(
  deps: OperationDeps,
  { input }: StepContext<ReleaseInput>,
  version: VersionRecord,
  target: Parameters<typeof channelTakes>[0] & { readonly name: string; readonly version?: string },
): Promise<void> {
  const { image, version: number, state } = version;
  if (!channelTakes(target, state)) {
    throw new ImagoError('version-state', `${image}:${number} is ${state} by now.`);
  }
  const before = input.channels[input.channels.indexOf(target.name) - 1];
  const held = before === undefined ? undefined : await deps.catalogue.getChannel(image, before);
  for (const other of [held?.version, target.version]) {
    if (other === undefined || other === number) continue;
    const found = await deps.catalogue.getVersion(image, other);
    if (found === undefined || compareAge(found, version) < 0) continue;
    throw new ImagoError('release-superseded', `${image}:${other} came after ${number} and is ahead of it.`, {
      hint: `To go back to ${number} on purpose: \`imago channel promote ${image}:${number} --to ${target.name} --back\`.`,
    });
  }
}

function promoteChild(channel: string): ChildStep<ReleaseInput> {
  return {
    name: `promote-${channel}`,
    child(context) {
      const { moves } = requireResult<{ readonly moves: boolean }>(context, `gates-${channel}`);
      if (!moves) return undefined;
      const { reference, image } = resolved(context);
      const { why } = context.input;
      return { kind: 'promote', subject: `image/${image}`, input: { reference, channel, why } };
    },
  };
}

async function requireVersion(deps: OperationDeps, image: string, version: string): Promise<VersionRecord> {
  const found = await deps.catalogue.getVersion(image, version);
  if (found !== undefined) return found;
  throw new ImagoError('version-not-found', `${image}:${version} is not in the catalogue any more.`);
}
