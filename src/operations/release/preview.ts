// What a release would do, step by step, for dry runs: what changes in the lock, what the caches have, what is passed
// over, what stands before each channel. Reads only.
import { answerDeadline } from '../../async/deadline.ts';
import type { Requester } from '../../domain/access/roles.ts';
import { type ChannelRecord, usualChannels } from '../../domain/channel/channel.ts';
import { isRestricted, type Recipe, type RecipeTest } from '../../domain/recipe/recipe.ts';
import type { Json } from '../../domain/value/json.ts';
import { toIso } from '../../domain/value/time.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { buildInput } from '../build/input.ts';
import { foreseeParts } from '../build/plan.ts';
import { callOptions, type OperationDeps, requireRole, simulatedBy } from '../common/deps.ts';
import { describeFailure } from '../common/describe-failure.ts';
import { checkMayGo } from '../gallery/copy-target.ts';
import { requireRoom } from '../gallery/limits.ts';
import { testSentence } from '../image-test/test-image.ts';
import type { ReleaseInput } from './input.ts';
import { type ForeseenTarget, foreseeChannel } from './preview-channel.ts';

/** How long a gallery may take to tell what it has. */
const galleryMs = 60_000;

export interface ForeseenVersion {
  readonly target: ForeseenTarget;
  /** Of lock, build, test and publication, each with the name of its step in front. */
  readonly lines: readonly string[];
}

export async function foreseeRelease(
  deps: OperationDeps,
  input: ReleaseInput,
  by: Requester,
): Promise<readonly string[]> {
  const { target, lines } = await foreseeVersion(deps, input);
  const channels = await channelsOf(deps, input.recipe.name, input.provider);
  const ways = input.channels.map((channel, index) => ({
    ...{ channel, before: input.channels[index - 1], target },
  }));
  return [...lines, ...(await foreseeWays(deps, ways, { channels, by, waitMs: input.waitMs }))];
}

export async function foreseeVersion(
  deps: OperationDeps,
  { recipe, lock, provider, newest, locked, bump }: Omit<ReleaseInput, 'channels' | 'why' | 'waitMs'>,
): Promise<ForeseenVersion> {
  const asked = { recipe, lock, provider, newest, locked, bump } as unknown as Json;
  const parts = await foreseeParts(deps, parseInput(buildInput, asked));
  const target = parts.known ? knownTarget(parts.known) : newTarget(deps, recipe as Recipe, provider);
  const tests = (recipe as { readonly tests?: readonly RecipeTest[] }).tests ?? [];
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['lock', parts.lock],
    ['build', parts.build],
    ['test', await describeFailure(async () => testLines(deps, target, provider, tests))],
    ['publish', await describeFailure(() => publishLines(deps, target, provider))],
  ];
  return { target, lines: steps.flatMap(([step, lines]) => lines.map((line) => `${step}: ${line}`)) };
}

export interface ForeseenWay {
  readonly channel: string;
  readonly before: string | undefined;
  readonly target: ForeseenTarget;
}

export async function foreseeWays(
  deps: OperationDeps,
  ways: readonly ForeseenWay[],
  asked: { readonly channels: readonly ChannelRecord[]; readonly by: Requester; readonly waitMs: number },
): Promise<readonly string[]> {
  const lines: string[] = [];
  const moved = new Set<string>();
  for (const way of ways) {
    const found = await foreseeChannel(deps, { ...asked, ...way, moved });
    lines.push(...found.lines);
    if (found.moves) moved.add(way.channel);
  }
  return lines;
}

/** Those of the image; of one that there is not yet, those that it begins with. */
export async function channelsOf(
  deps: OperationDeps,
  image: string,
  provider: string | undefined,
): Promise<readonly ChannelRecord[]> {
  const known = await deps.catalogue.listChannels(image);
  if (known.length > 0) return known;
  const mark = simulatedBy(deps, provider);
  return usualChannels.map((usual, index) => ({
    ...{ ...usual, image, position: index + 1, public: false, ...mark },
  }));
}

function knownTarget(version: VersionRecord): ForeseenTarget {
  return { version, isNew: false, willTest: version.state === 'candidate' };
}

/** Its number and digest are those of no version: nothing is found under them. */
function newTarget(deps: OperationDeps, recipe: Recipe, provider: string | undefined): ForeseenTarget {
  const restricted = isRestricted({ ...recipe, components: recipe.components ?? [] });
  return {
    isNew: true,
    willTest: true,
    version: {
      ...{ image: recipe.name, version: 'new', digest: 'new', diskDigest: 'new', sizeBytes: 0 },
      ...{ state: 'candidate', origin: { kind: 'built', lockDigest: 'new' }, operation: '' },
      createdAt: toIso(new Date(deps.clock.now())),
      ...simulatedBy(deps, provider),
      ...(restricted ? { restricted } : {}),
    },
  };
}

function testLines(
  deps: OperationDeps,
  { version, isNew, willTest }: ForeseenTarget,
  name: string | undefined,
  tests: readonly RecipeTest[],
): readonly string[] {
  if (!willTest) return [`Passed over: ${version.image}:${version.version} is ${version.state}.`];
  const provider = deps.provider(name);
  requireRole(provider, 'machines');
  const own = tests.length === 0 ? '' : `, and ${tests.length} of its own`;
  return [
    testSentence(provider, isNew ? 'it' : `${version.image}:${version.version} (${version.digest})`),
    `Run the built-in checks${own}, and store the evidence.`,
  ];
}

async function publishLines(
  deps: OperationDeps,
  { version, isNew }: ForeseenTarget,
  name: string | undefined,
): Promise<readonly string[]> {
  const provider = deps.provider(name);
  const { gallery } = provider;
  if (gallery === undefined) return [`Passed over: ${provider.name} has no gallery.`];
  const options = callOptions(deps, answerDeadline(galleryMs, `The gallery of ${provider.name}`));
  const found = isNew ? undefined : await gallery.getVersion(version.image, version.version, options);
  if (found?.state === 'ready') return [`Passed over: the gallery of ${provider.name} has it.`];
  await checkMayGo(deps, { provider }, version);
  await requireRoom(gallery, isNew ? { ...version, version: '0.0.0' } : version, options);
  return [`Copy it to the gallery of ${provider.name}.`];
}
