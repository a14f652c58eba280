// Releases a recipe: from the recipe to production in one durable operation, made of others. What is already done is
// skipped, so a release of something that has not changed ends immediately; at gates that time or people can open it
// waits. All versions of a recipe are locked, built, tested and published before any channel moves. Each Kubernetes minor
// version has its own channels (`production-1-34`), which get its highest patch; the plain channels get the highest of
// all. Lower patches are found by `imago resolve --kubernetes`.

import type { OneBuild } from '../../domain/build/operations.ts';
import { lineChannel, lineOfKubernetes } from '../../domain/channel/minor-channel.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { operationRequest, parseInput } from '../../domain/operation/declaration.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { ReleaseInput, Variant } from '../../domain/release/operations.ts';
import * as declared from '../../domain/release/operations.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import { compareLoosely } from '../../domain/value/loose-version.ts';
import type { ChannelRecord, NewChannel, Resolution } from '../../ports/database/catalog.ts';
import type { StepRecord } from '../../ports/workflow/operation.ts';
import { childId } from '../../workflow/interpreter/child-step.ts';
import { lockWith } from '../build/base.ts';
import { build, matrixStep } from '../build/operations.ts';
import { planParts, requireBuildable } from '../build/plan.ts';
import { requireRole, simulatedBy } from '../common/deps.ts';
import { operation, type Reading, type Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { publishStep } from '../gallery/copy-version.ts';
import type { Sealed } from '../image/candidate.ts';
import { imageTest } from '../image-test/operations.ts';
import { type ChannelResults, channelSteps, movedChannels, type Way } from './channels.ts';
import { channelsOf, type PreviewTarget, previewVersion, previewWays } from './preview.ts';

interface Released {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly changed: boolean;
}

interface PartResults {
  readonly [step: `release-${string}`]: Released;
}

const isOne = ({ variants }: ReleaseInput) => variants === undefined;
const one = { when: isOne };
const several = { when: (input: ReleaseInput) => !isOne(input) };

export const release = operation(declared.release, { plan: planRelease })
  .child(
    'build',
    build,
    ({ input: { recipe, lock, provider, bump, newest, locked, source } }) => ({
      ...{ recipe: recipe as { readonly name: string }, lock, provider, bump, newest, locked, source },
    }),
    isOne,
  )
  .step('resolve', {
    ...one,
    async do(run): Promise<Resolution> {
      const { image, version } = run.result('build') as Sealed;
      const { digest, state, simulated } = await requireVersion(run, image, version);
      return {
        reference: `${image}:${version}`,
        image,
        version,
        digest,
        state,
        ...(simulated && { simulated }),
      };
    },
  })
  .child(
    'test',
    imageTest,
    (run) => {
      const { reference, state } = run.result('resolve');
      if (state !== 'candidate') return undefined;
      const { provider, recipe } = run.input;
      const declaredFirmware = recipe?.firmware as readonly ('uefi' | 'bios')[] | undefined;
      return {
        ...{ reference, provider },
        ...(declaredFirmware && { firmware: [...declaredFirmware, 'direct' as const] }),
      };
    },
    isOne,
  )
  .use({ ...one, ...publishStep((run: Reading<ReleaseInput>) => run.input.provider) })
  .steps<PartResults>(({ variants = [] }) =>
    variants.map((variant) => ({
      name: partName(variant),
      child: ({ input }: Run<ReleaseInput>) => operationRequest(declared.release, partOf(input, variant)),
    })),
  )
  .use({
    ...several,
    ...matrixStep(({ input }: Run<ReleaseInput>) => (input.variants ?? []).map(({ recipe }) => recipe)),
  })
  .step('channels', {
    ...several,
    async do(run) {
      const { image, channels } = run.input;
      const known = await run.catalogue.listChannels(image);
      for (const base of channels) requireMovable(image, base, known);
      const missing = missingChannels(run.input, known);
      for (const channel of missing) await run.catalogue.createChannel(channel);
      return { added: missing.map(({ name }) => name) };
    },
  })
  .steps<ChannelResults>((input) => waysOf(input).flatMap(channelSteps))
  // How long each step took, from the lock to the last channel, read from the journal.
  .step('report', async (run) => {
    const { variants } = run.input;
    const channels = movedChannels(run, waysOf(run.input));
    const times = await readTimes(run);
    if (variants === undefined) {
      const { image, version, digest } = run.result('resolve');
      const { reused } = run.result('build') as Sealed;
      return { image, version, digest, changed: !reused || channels.length > 0, channels, ...times };
    }
    const versions = variants.map((variant) => {
      const { version, digest, changed } = run.result(partName(variant));
      return { version, digest, changed, kubernetes: variant.recipe.kubernetes };
    });
    const changed = channels.length > 0 || versions.some((version) => version.changed);
    return { image: run.input.image, versions, changed, channels, ...times };
  });

async function planRelease(run: Reading<ReleaseInput>, preview: boolean): Promise<readonly string[]> {
  const { image, channels, provider, recipe, variants } = run.input;
  requireRole(run.provider(provider), 'machines');
  const known = await channelsOf(run, image, provider);
  for (const name of channels) requireMovable(image, name, known);
  const lines: string[] = [];
  const targets = new Map<Way['of'], PreviewTarget>();
  for (const variant of variants ?? (recipe === undefined ? [] : [{ recipe, lock: run.input.lock }])) {
    const { bump, newest, locked } = run.input;
    const { recipe: own, lock } = variant;
    const asked = { recipe: own, lock, provider, bump, newest, locked } as Json;
    const input = parseInput(build.declaration.input, asked);
    await requireBuildable(run, input);
    const prefix = variants === undefined ? '' : `Kubernetes ${own.kubernetes}: `;
    const found = preview ? await previewVersion(run, input) : { lines: await planVersion(run, input) };
    if ('target' in found) targets.set(variants === undefined ? 'resolve' : partName(variant), found.target);
    lines.push(...found.lines.map((line) => `${prefix}${line}`));
  }
  if (preview) return [...lines, ...(await previewChannels(run, known, targets))];
  return [
    ...lines,
    ...waysOf(run.input).map(({ channel, of }) =>
      of === 'resolve'
        ? `Wait for the gates of ${channel}, and promote it there.`
        : `Wait for the gates of ${channel}, and promote the version of Kubernetes ${of.slice('release-'.length)} there.`,
    ),
    'What is already done is skipped.',
  ];
}

async function planVersion(run: Reading, input: OneBuild): Promise<readonly string[]> {
  const { lock, build: rest } = await planParts(run, input, false);
  return [
    ...(input.newest ? ['Use the newest version of every input.'] : []),
    ...[...lock, ...rest, 'Boot it on fresh machines, and store the evidence.', 'Publish it to the gallery.'],
  ];
}

async function previewChannels(
  run: Reading<ReleaseInput>,
  known: readonly ChannelRecord[],
  targets: ReadonlyMap<Way['of'], PreviewTarget>,
): Promise<readonly string[]> {
  const missing = missingChannels(run.input, known);
  const added = missing.map((channel, index) => ({
    ...{ ...channel, managed: false, position: known.length + index + 1 },
    ...simulatedBy(run, run.input.provider),
  }));
  const ways = waysOf(run.input).flatMap(({ channel, before, of }) => {
    const target = targets.get(of);
    return target === undefined ? [] : [{ channel, before, target }];
  });
  const { waitMs } = run.input;
  return [
    ...(missing.length === 0 ? [] : [`channels: Create ${missing.map(({ name }) => name).join(', ')}.`]),
    ...(await previewWays(run, ways, { channels: [...known, ...added], by: run.requester, waitMs })),
  ];
}

function kubernetesOf({ recipe }: Variant): string {
  return recipe.kubernetes ?? '';
}

function partName(variant: Variant): `release-${string}` {
  return `release-${kubernetesOf(variant)}`;
}

/** A release of one version that moves no channel. */
function partOf(input: ReleaseInput, { recipe, lock }: Variant) {
  const { provider, bump, newest, locked, source, why, waitMs } = input;
  return { recipe, lock, provider, bump, newest, locked, source, why, waitMs, channels: [] };
}

/** The highest patch of each minor version, lowest minor version first. */
function leaders(variants: readonly Variant[]): readonly Variant[] {
  const ordered = variants.toSorted((a, b) => compareLoosely(kubernetesOf(a), kubernetesOf(b)));
  return [...new Map(ordered.map((one) => [lineOfKubernetes(kubernetesOf(one)), one])).values()];
}

/** Channel by channel, so that nothing is in production before the entire release is in staging. */
function waysOf({ channels, variants }: ReleaseInput): readonly Way[] {
  if (variants === undefined) {
    return channels.map((channel, index) => ({ channel, before: channels[index - 1], of: 'resolve' }));
  }
  const all = leaders(variants);
  const highest = all.at(-1);
  const way = (variant: Variant, base: string, index: number, name: (plain: string) => string): Way => {
    const earlier = channels[index - 1];
    return { channel: name(base), before: earlier && name(earlier), of: partName(variant) };
  };
  return channels.flatMap((base, index) => [
    ...all.map((variant) => way(variant, base, index, (name) => lineChannel(name, kubernetesOf(variant)))),
    ...(highest === undefined ? [] : [way(highest, base, index, (name) => name)]),
  ]);
}

/** The channels of the minor versions that do not exist yet, with the settings of the plain ones. */
function missingChannels(
  { image, channels, variants = [] }: ReleaseInput,
  known: readonly ChannelRecord[],
): readonly NewChannel[] {
  return channels.flatMap((base) => {
    const plain = known.find(({ name }) => name === base);
    if (plain === undefined) return [];
    const { forTesting, public: isPublic } = plain;
    return leaders(variants)
      .map((one) => lineChannel(base, kubernetesOf(one)))
      .filter((name) => !known.some((channel) => channel.name === name))
      .map((name) => ({ image, name, forTesting, public: isPublic }));
  });
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

interface Timed {
  readonly step: string;
  readonly state: StepRecord['state'];
  readonly ms: number | null;
}

/** The times of all steps of the operation and of its children, except the one that reads them. */
async function readTimes({ journal, operation: { id }, clock }: Run) {
  const own = await journal.get(id);
  const since = own?.startedAt ?? own?.createdAt;
  return {
    totalMs: since === undefined ? null : Math.max(0, clock.now() - Date.parse(since)),
    times: await timesOf({ journal }, id, ''),
  };
}

async function timesOf(deps: Pick<Run, 'journal'>, id: string, prefix: string): Promise<readonly Timed[]> {
  const record = await deps.journal.get(id);
  const times: Timed[] = [];
  for (const step of record?.steps ?? []) {
    if (step.name === 'report') continue;
    const inner = await timesOf(deps, childId(id, step.name), `${prefix}${step.name}/`);
    times.push(...(inner.length > 0 ? inner : [timed(`${prefix}${step.name}`, step)]));
  }
  return times;
}

function timed(step: string, { state, startedAt, endedAt }: StepRecord): Timed {
  const took =
    startedAt === undefined || endedAt === undefined || state === 'skipped'
      ? null
      : Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
  return { step, state, ms: took };
}

interface Found {
  readonly newer: boolean;
  /** The newest locks, in the order of the variants; empty if nothing is newer. */
  readonly locks: readonly Lock[];
  /** The digest of all locks together. */
  readonly digest: string;
}

/**
 * Starts a release only if there is something newer: looks up the newest version of every input, and does nothing if a
 * version was built from exactly these. It is for schedules and events; a newer release does not queue behind an older
 * one that waits for people, but overtakes it.
 */
export const releaseNewer = operation(declared.releaseNewer, {
  async plan(run, preview) {
    const input = preview ? { ...run.input.release, newest: true } : run.input.release;
    const sentence =
      'Look up the newest version of every input, and end if a version was built from exactly these.';
    return [preview ? `look: ${sentence}` : sentence, ...(await planRelease({ ...run, input }, preview))];
  },
})
  .step('look', async (run): Promise<Found> => {
    const builder = requireRole(run.provider(run.input.release.provider), 'builder');
    const locks: Lock[] = [];
    const digests: string[] = [];
    let newer = false;
    for (const { recipe } of run.input.variants) {
      const lock = await lockWith(run, builder, { recipe: recipe as Recipe, newest: true });
      const digest = `sha256:${run.sha256(canonicalJson(lock))}`;
      newer ||= (await run.catalogue.findVersionByLock(recipe.name, digest)) === undefined;
      locks.push(lock);
      digests.push(digest);
    }
    return { newer, locks: newer ? locks : [], digest: run.sha256(digests.join('\n')) };
  })
  // Does not wait for the release: it may wait for people, and the next check must not. The key contains the locks: the
  // same release again waits for its turn, a newer one does not.
  .step('start', async (run): Promise<{ readonly release: string | null }> => {
    const { newer, locks, digest } = run.result('look');
    if (!newer) return { release: null };
    const { input, release: asked } = run.input;
    const variants = run.input.variants.map((variant, index) => ({ ...variant, lock: locks[index] }));
    const locked = asked.variants === undefined ? variants[0] : { variants };
    const request = operationRequest(declared.release, { ...input, ...locked, newest: false } as never);
    const { id, by, osUser } = run.operation;
    const key = `${request.subject}@${digest}`;
    const started = await run.desk().submit({ ...request, by, osUser, id: `${id}.release`, key });
    return { release: started.id };
  })
  .result((run) => ({ newer: run.result('look').newer, ...run.result('start') }));
