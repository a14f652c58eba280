// The release of a recipe that stands for several versions: all are locked, built, tested and published before any
// channel moves. Each Kubernetes minor version has channels of its own (`production-1-34`), which take its highest
// patch; the plain channels take the highest of all. Lower patches are found by `imago resolve --kubernetes`.

import * as z from 'zod';
import type { Requester } from '../../domain/access/roles.ts';
import { lineChannel, lineOfKubernetes } from '../../domain/channel/minor-channel.ts';
import type { Json } from '../../domain/value/json.ts';
import { compareLoosely } from '../../domain/value/loose-version.ts';
import type { ChannelRecord, NewChannel } from '../../ports/database/catalog.ts';
import type { ChildStep, OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { matrixStep } from '../build/matrix.ts';
import { type OperationDeps, simulatedBy } from '../common/deps.ts';
import { type ChannelWay, channelSteps, movedChannels } from './channels.ts';
import { wayInput } from './input.ts';
import { channelsOf, foreseeVersion, foreseeWays } from './preview.ts';
import type { ForeseenTarget } from './preview-channel.ts';
import { refuseTwice, releaseOperation, requireMovable } from './release.ts';
import { readTimes, reportName } from './report.ts';

const variant = z.looseObject({
  recipe: z.looseObject({ name: z.string(), kubernetes: z.string() }),
  lock: z.unknown().optional(),
});

const matrixInput = z.object({ image: z.string(), variants: z.array(variant).min(1), ...wayInput });
export type ReleaseMatrixInput = z.infer<typeof matrixInput>;
type Variant = ReleaseMatrixInput['variants'][number];

interface Released {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly changed: boolean;
}

export function releaseMatrixOperation(deps: OperationDeps): OperationKind<ReleaseMatrixInput> {
  const release = releaseOperation(deps);
  return {
    kind: 'release-matrix',
    parse(input) {
      const parsed = parseInput(matrixInput, input);
      refuseTwice(parsed.channels);
      return parsed;
    },
    async plan(input, by) {
      const { image, variants, channels, provider } = input;
      const known = await channelsOf(deps, image, provider);
      for (const name of channels) requireMovable(image, name, known);
      const lines: string[] = [];
      for (const one of variants) {
        const parts = await release.plan(release.parse(partOf(input, one) as unknown as Json), by);
        lines.push(...parts.slice(0, -1).map((line) => `Kubernetes ${one.recipe.kubernetes}: ${line}`));
      }
      return [
        ...lines,
        ...waysOf(input).map(
          ({ channel, of }) =>
            `Wait for the gates of ${channel}, and move it to the version of Kubernetes ${of}.`,
        ),
        'What is so already is passed over.',
      ];
    },
    foresee: (input, by) => foreseeMatrix(deps, input, by),
    steps: (input) => [
      ...input.variants.map((one) => partStep(input.image, one)),
      matrixStep(deps, ({ variants }: ReleaseMatrixInput) => variants.map(({ recipe }) => recipe.kubernetes)),
      channelsStep(deps),
      ...waysOf(input).flatMap((way) => channelSteps<ReleaseMatrixInput>(deps, way)),
      reportStep(deps),
    ],
    result: (context) => requireResult<Json & object>(context, reportName),
  };
}

async function foreseeMatrix(
  deps: OperationDeps,
  input: ReleaseMatrixInput,
  by: Requester,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const targets = new Map<string, ForeseenTarget>();
  for (const one of input.variants) {
    const { kubernetes } = one.recipe;
    const found = await foreseeVersion(deps, { ...input, ...one });
    targets.set(kubernetes, found.target);
    lines.push(...found.lines.map((line) => `Kubernetes ${kubernetes}: ${line}`));
  }
  const known = await channelsOf(deps, input.image, input.provider);
  const missing = missingChannels(input, known);
  const channels = missing.map((channel, index) => ({
    ...{ ...channel, managed: false, position: known.length + index + 1 },
    ...simulatedBy(deps, input.provider),
  }));
  const ways = waysOf(input).flatMap(({ channel, before, of }) => {
    const target = targets.get(of);
    return target === undefined ? [] : [{ channel, before, target }];
  });
  const { waitMs } = input;
  return [
    ...lines,
    ...(missing.length === 0 ? [] : [`channels: Make ${missing.map(({ name }) => name).join(', ')}.`]),
    ...(await foreseeWays(deps, ways, { channels: [...known, ...channels], by, waitMs })),
  ];
}

function partName({ recipe }: Variant): string {
  return `release-${recipe.kubernetes}`;
}

/** A release of one version that moves no channel. */
function partOf({ variants: _all, image: _image, ...way }: ReleaseMatrixInput, { recipe, lock }: Variant) {
  return { ...way, recipe, lock, channels: [] };
}

function partStep(image: string, one: Variant): ChildStep<ReleaseMatrixInput> {
  return {
    name: partName(one),
    child: ({ input }) => ({
      kind: 'release',
      subject: `release/${image}`,
      input: partOf(input, one) as unknown as Json,
    }),
  };
}

/** The highest patch of each minor version, lowest minor version first. */
function leaders(variants: readonly Variant[]): readonly Variant[] {
  const ordered = variants.toSorted((a, b) => compareLoosely(a.recipe.kubernetes, b.recipe.kubernetes));
  return [...new Map(ordered.map((one) => [lineOfKubernetes(one.recipe.kubernetes), one])).values()];
}

interface Way extends ChannelWay<ReleaseMatrixInput> {
  /** The Kubernetes version that goes there. */
  readonly of: string;
}

/** Channel by channel, so that nothing is in production before all of the release is in staging. */
function waysOf({ channels, variants }: ReleaseMatrixInput): readonly Way[] {
  const all = leaders(variants);
  const highest = all.at(-1);
  const way = (one: Variant, name: (base: string) => string) => (base: string, index: number) => {
    const earlier = channels[index - 1];
    return {
      channel: name(base),
      before: earlier === undefined ? undefined : name(earlier),
      of: one.recipe.kubernetes,
      target: (context: StepContext<ReleaseMatrixInput>) => requireResult<Released>(context, partName(one)),
    };
  };
  return channels.flatMap((base, index) => [
    ...all.map((one) => way(one, (name) => lineChannel(name, one.recipe.kubernetes))(base, index)),
    ...(highest === undefined ? [] : [way(highest, (name) => name)(base, index)]),
  ]);
}

/** The channels of the minor versions that are not there yet, as the plain ones are. */
function missingChannels(
  { image, channels, variants }: ReleaseMatrixInput,
  known: readonly ChannelRecord[],
): readonly NewChannel[] {
  return channels.flatMap((base) => {
    const plain = known.find(({ name }) => name === base);
    if (plain === undefined) return [];
    const { forTesting, public: isPublic } = plain;
    return leaders(variants)
      .map(({ recipe }) => lineChannel(base, recipe.kubernetes))
      .filter((name) => !known.some((channel) => channel.name === name))
      .map((name) => ({ image, name, forTesting, public: isPublic }));
  });
}

function channelsStep(deps: OperationDeps): WorkStep<ReleaseMatrixInput> {
  return {
    name: 'channels',
    async do({ input }) {
      const { image, channels } = input;
      const known = await deps.catalogue.listChannels(image);
      for (const base of channels) requireMovable(image, base, known);
      const missing = missingChannels(input, known);
      for (const channel of missing) await deps.catalogue.createChannel(channel);
      return { added: missing.map(({ name }) => name) };
    },
  };
}

function reportStep(deps: OperationDeps): WorkStep<ReleaseMatrixInput> {
  return {
    name: reportName,
    async do(context) {
      const { input } = context;
      const channels = movedChannels(
        context,
        waysOf(input).map(({ channel }) => channel),
      );
      const versions = input.variants.map((one) => {
        const { version, digest, changed } = requireResult<Released>(context, partName(one));
        return { version, digest, changed, kubernetes: one.recipe.kubernetes };
      });
      return {
        image: input.image,
        versions,
        changed: channels.length > 0 || versions.some(({ changed }) => changed),
        channels,
        ...(await readTimes(deps, context)),
      } satisfies Json;
    },
  };
}
