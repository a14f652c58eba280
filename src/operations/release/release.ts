// Release: from a recipe to production in one durable operation, made of others. What is so already is passed over,
// so a release of something that has not changed ends at once; before gates that time or people can open it waits.

import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { ChildStep, OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { buildOperation } from '../build/build.ts';
import { type OperationDeps, requireRole } from '../common/deps.ts';
import { publishStep } from '../gallery/publish-step.ts';
import { resolved } from '../image/resolve-step.ts';
import { channelSteps, requireVersion } from './channels.ts';
import { type ReleaseInput, releaseInput } from './input.ts';
import { channelsOf, foreseeRelease } from './preview.ts';
import { reportStep } from './report.ts';

export function releaseOperation(deps: OperationDeps): OperationKind<ReleaseInput> {
  return {
    kind: 'release',
    parse(input) {
      const parsed = parseInput(releaseInput, input);
      refuseTwice(parsed.channels);
      return parsed;
    },
    async plan({ recipe, provider, channels, newest, locked }, by) {
      requireRole(deps.provider(provider), 'machines');
      const build = buildOperation(deps);
      const lines = await build.plan(build.parse({ recipe: recipe as Json, provider, locked }), by);
      const known = await channelsOf(deps, recipe.name, provider);
      for (const name of channels) requireMovable(recipe.name, name, known);
      return [
        ...(newest ? ['Take the newest of every input.'] : []),
        ...lines,
        'Boot it on fresh machines, and store the evidence.',
        'Publish it to the gallery.',
        ...channels.map((name) => `Wait for the gates of ${name}, and move it there.`),
        'What is so already is passed over.',
      ];
    },
    foresee: (input, by) => foreseeRelease(deps, input, by),
    steps: ({ channels }) => [
      buildChild(),
      resolveStep(deps),
      testChild(),
      publishStep<ReleaseInput>(deps),
      ...channels.flatMap((channel, index) =>
        channelSteps<ReleaseInput>(deps, { channel, before: channels[index - 1], target: resolved }),
      ),
      reportStep(deps),
    ],
    result: (context) => requireResult<Json & object>(context, 'report'),
  };
}

export function refuseTwice(channels: readonly string[]): void {
  const twice = channels.find((name, index) => channels.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new ImagoError('input-invalid', `Channel ${twice} stands twice in the way of the release.`);
}

export function requireMovable(
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
    child({ input: { recipe, lock, provider, bump, newest, locked, source } }) {
      return {
        kind: 'build',
        subject: `image/${recipe.name}`,
        input: {
          ...{ recipe: recipe as Json, lock: lock as Json | undefined, provider },
          ...{ bump, newest, locked, source },
        },
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
      const { digest, state, simulated } = await requireVersion(deps, image, version);
      return {
        reference: `${image}:${version}`,
        image,
        version,
        digest,
        state,
        ...(simulated && { simulated }),
      };
    },
  };
}

function testChild(): ChildStep<ReleaseInput> {
  return {
    name: 'test',
    child(context) {
      const { reference, state } = resolved(context);
      if (state !== 'candidate') return undefined;
      const { provider, recipe } = context.input;
      const declared = (recipe as { readonly firmware?: Json[] }).firmware;
      const firmware = declared === undefined ? {} : { firmware: [...declared, 'direct'] };
      return { kind: 'test', subject: `image/${reference}`, input: { reference, provider, ...firmware } };
    },
  };
}
