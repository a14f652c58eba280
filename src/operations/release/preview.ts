// Previews a release, step by step, for dry runs: what changes in the lock, what the caches have, what is skipped, what
// each channel requires. Reads only.
import { answerDeadline } from '../../async/deadline.ts';
import type { Requester } from '../../domain/access/roles.ts';
import type { OneBuild } from '../../domain/build/operations.ts';
import { type ChannelRecord, usualChannels } from '../../domain/channel/channel.ts';
import { isRestricted, type Recipe, type RecipeTest } from '../../domain/recipe/recipe.ts';
import { toIso } from '../../domain/value/time.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import { planParts } from '../build/plan.ts';
import { callOptions, type OperationDeps, requireRole, simulatedBy } from '../common/deps.ts';
import { describeFailure } from '../common/describe-failure.ts';
import type { Reading } from '../common/operation.ts';
import { checkMayGo } from '../gallery/copy-target.ts';
import { requireRoom } from '../gallery/limits.ts';
import { testSentence } from '../image-test/operations.ts';
import { type PreviewTarget, previewChannel } from './preview-channel.ts';

export type { PreviewTarget } from './preview-channel.ts';

/** How long a gallery may take to list what it has. */
const galleryMs = 60_000;

export interface PreviewedVersion {
  readonly target: PreviewTarget;
  /** Lock, build, test and publication, each line with the name of its step in front. */
  readonly lines: readonly string[];
}

export async function previewVersion(run: Reading, input: OneBuild): Promise<PreviewedVersion> {
  const { recipe, provider } = input;
  const parts = await planParts(run, input, true);
  const target = parts.known ? knownTarget(parts.known) : newTarget(run, recipe as Recipe, provider);
  const tests = (recipe as { readonly tests?: readonly RecipeTest[] }).tests ?? [];
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['lock', parts.lock],
    ['build', parts.build],
    ['test', await describeFailure(async () => testLines(run, target, provider, tests))],
    ['publish', await describeFailure(() => publishLines(run, target, provider))],
  ];
  return { target, lines: steps.flatMap(([step, lines]) => lines.map((line) => `${step}: ${line}`)) };
}

export interface PreviewedWay {
  readonly channel: string;
  readonly before: string | undefined;
  readonly target: PreviewTarget;
}

export async function previewWays(
  run: Reading,
  ways: readonly PreviewedWay[],
  asked: { readonly channels: readonly ChannelRecord[]; readonly by: Requester; readonly waitMs: number },
): Promise<readonly string[]> {
  const lines: string[] = [];
  const moved = new Set<string>();
  for (const way of ways) {
    const found = await previewChannel(run, { ...asked, ...way, moved });
    lines.push(...found.lines);
    if (found.moves) moved.add(way.channel);
  }
  return lines;
}

/** The channels of the image; of one that does not exist yet, those that it starts with. */
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

function knownTarget(version: VersionRecord): PreviewTarget {
  return { version, isNew: false, willTest: version.state === 'candidate' };
}

/** Its number and digest match no version. */
function newTarget(deps: OperationDeps, recipe: Recipe, provider: string | undefined): PreviewTarget {
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
  { version, isNew, willTest }: PreviewTarget,
  name: string | undefined,
  tests: readonly RecipeTest[],
): readonly string[] {
  if (!willTest) return [`Skipped: ${version.image}:${version.version} is ${version.state}.`];
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
  { version, isNew }: PreviewTarget,
  name: string | undefined,
): Promise<readonly string[]> {
  const provider = deps.provider(name);
  const { gallery } = provider;
  if (gallery === undefined) return [`Skipped: ${provider.name} has no gallery.`];
  const options = callOptions(deps, answerDeadline(galleryMs, `The gallery of ${provider.name}`));
  const found = isNew ? undefined : await gallery.getVersion(version.image, version.version, options);
  if (found?.state === 'ready') return [`Skipped: the gallery of ${provider.name} has it.`];
  await checkMayGo(deps, { provider }, version);
  await requireRoom(gallery, isNew ? { ...version, version: '0.0.0' } : version, options);
  return [`Copy it to the gallery of ${provider.name}.`];
}
