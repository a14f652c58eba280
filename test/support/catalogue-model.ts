// A small model of the catalogue, written from the rules and not from the code: random sequences of what people do
// are played on a real store and on the model, and compared. `holds` are the rules that no sequence may break.
import fc from 'fast-check';
import type { Store } from '../../src/database/open-database.ts';
import type { ChannelMove } from '../../src/domain/channel/channel.ts';
import { stateFromMoves } from '../../src/domain/channel/log.ts';
import { ensureImagoError } from '../../src/domain/error/imago-error.ts';
import { testsPassed } from '../../src/domain/evidence/evidence.ts';
import type { VersionRecord } from '../../src/domain/image/version.ts';
import { digestOf } from './store.ts';

export const modelImage = 'node';

export type CatalogueAction =
  | { readonly do: 'publish'; readonly restricted: boolean }
  | { readonly do: 'capture'; readonly version: number }
  /** `version` and `channel` pick one of those that there are. */
  | { readonly do: 'test'; readonly version: number; readonly passed: boolean }
  | { readonly do: 'move'; readonly version: number; readonly channel: number; readonly stale: boolean }
  | { readonly do: 'withdraw'; readonly version: number }
  | { readonly do: 'restore'; readonly version: number }
  | { readonly do: 'prune'; readonly version: number }
  | { readonly do: 'drop'; readonly version: number }
  | { readonly do: 'add-channel'; readonly forTesting: boolean; readonly public: boolean }
  | { readonly do: 'delete-channel'; readonly channel: number };

const pick = fc.nat({ max: 7 });

export const catalogueAction: fc.Arbitrary<CatalogueAction> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), restricted: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('test' as const), version: pick, passed: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('move' as const),
      ...{ version: pick, channel: pick, stale: fc.boolean() },
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('withdraw' as const), version: pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restore' as const), version: pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('capture' as const), version: pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('prune' as const), version: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), version: pick }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('add-channel' as const),
      ...{ forTesting: fc.boolean(), public: fc.boolean() },
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete-channel' as const), channel: pick }) },
);

interface ModelVersion {
  readonly number: string;
  readonly digest: string;
  readonly restricted: boolean;
  /** The version whose node was captured. */
  readonly parent?: string;
  state: 'candidate' | 'available' | 'withdrawn' | 'deleted';
  before: 'candidate' | 'available';
  /** Whether its newest test passed. */
  good: boolean;
  /** Whether a channel ever pointed at it. */
  named: boolean;
}

interface ModelChannel {
  readonly name: string;
  readonly forTesting: boolean;
  readonly public: boolean;
  /** Where it stood, the last being where it stands. */
  trail: string[];
  /** A withdrawal left it with no good version. */
  emptied?: boolean;
}

/** What the rules say the catalogue is like. */
export interface CatalogueModel {
  readonly versions: ModelVersion[];
  readonly channels: ModelChannel[];
  made: number;
}

export function createModel(): CatalogueModel {
  return {
    versions: [],
    channels: [
      { name: 'staging', forTesting: true, public: false, trail: [] },
      { name: 'production', forTesting: false, public: false, trail: [] },
    ],
    made: 0,
  };
}

export async function prepareStore({ catalogue }: Store): Promise<void> {
  await catalogue.ensureImage({ name: modelImage, os: 'linux', architecture: 'x64', numbering: 'semver' });
}

/** Does it on the store, and on the model when the rules allow it. Answers with a sentence when the two disagree. */
export async function play(
  store: Store,
  model: CatalogueModel,
  action: CatalogueAction,
): Promise<string | undefined> {
  const step = prepare(model, action);
  if (step === undefined) return undefined;
  const code = await step.run(store).then(
    () => undefined,
    (thrown: unknown) => ensureImagoError(thrown).code,
  );
  if ((code === undefined) !== step.allowed) {
    return `${JSON.stringify(action)}: the rules ${step.allowed ? 'allow' : 'refuse'} it, and the store answered ${code ?? 'yes'}`;
  }
  if (step.allowed) step.apply();
  return undefined;
}

interface PlayedStep {
  readonly allowed: boolean;
  run(store: Store): Promise<unknown>;
  apply(): void;
}

function prepare(model: CatalogueModel, action: CatalogueAction): PlayedStep | undefined {
  switch (action.do) {
    case 'publish':
      return publish(model, action.restricted);
    case 'add-channel':
      return addChannel(model, action);
    case 'delete-channel': {
      const channel = pickFrom(model.channels.slice(2), action.channel);
      return channel && deleteChannel(model, channel);
    }
    default: {
      const version = pickFrom(model.versions, action.version);
      return version && onVersion(model, version, action);
    }
  }
}

type VersionAction = Extract<CatalogueAction, { readonly version: number }>;

function onVersion(
  model: CatalogueModel,
  version: ModelVersion,
  action: VersionAction,
): PlayedStep | undefined {
  if (action.do === 'test') return judge(version, action.passed);
  if (action.do === 'withdraw') return withdraw(model, version);
  if (action.do === 'restore') return restore(version);
  if (action.do === 'prune') return prune(model, version);
  if (action.do === 'drop') return drop(model, version);
  if (action.do === 'capture')
    return version.state === 'deleted' ? undefined : publish(model, false, version);
  const channel = pickFrom(model.channels, action.channel);
  return channel && move(version, channel, action.stale);
}

function publish(model: CatalogueModel, restricted: boolean, parent?: ModelVersion): PlayedStep {
  const number = `1.0.${model.made}`;
  const digest = digestOf(`7${model.made}`);
  return {
    allowed: true,
    run: ({ catalogue }) =>
      catalogue.addVersion({
        ...{ image: modelImage, version: number, digest, diskDigest: digest, sizeBytes: 1 },
        origin:
          parent === undefined
            ? { kind: 'imported', from: 'model' }
            : { kind: 'captured', node: 'donor', parent: `${modelImage}:${parent.number}` },
        operation: `publish-${number}`,
        ...(restricted ? { restricted: true as const } : {}),
      }),
    apply() {
      model.made += 1;
      model.versions.push({
        ...{ number, digest, restricted, state: 'candidate', before: 'candidate' },
        ...{ good: false, named: false },
        ...(parent === undefined ? {} : { parent: parent.number }),
      });
    },
  };
}

/** Evidence is always taken; only a pass of a candidate makes it available. */
function judge(version: ModelVersion, passed: boolean): PlayedStep {
  const { number, digest } = version;
  return {
    allowed: true,
    async run({ catalogue }) {
      await catalogue.addEvidence({
        ...{ digest, kind: 'test', passed, by: 'model', summary: 'tested', details: {} },
      });
      if (passed && version.state === 'candidate') {
        await catalogue.setVersionState(modelImage, number, 'available', { by: 'model' });
      }
    },
    apply() {
      version.good = passed;
      if (passed && version.state === 'candidate') version.state = 'available';
    },
  };
}

function pointer({ trail, emptied }: ModelChannel): string | undefined {
  return emptied ? undefined : trail.at(-1);
}

/** A return forgets what came after. An emptied channel still knows where it was. */
function pointAt(channel: ModelChannel, to: string | undefined): void {
  channel.emptied = to === undefined;
  if (to === undefined) return;
  const known = channel.trail.indexOf(to);
  channel.trail = [...channel.trail.slice(0, known < 0 ? undefined : known), to];
}

function takes(channel: ModelChannel, version: ModelVersion): boolean {
  if (channel.public && version.restricted) return false;
  return version.state === 'available' || (channel.forTesting && version.state === 'candidate');
}

function move(version: ModelVersion, channel: ModelChannel, stale: boolean): PlayedStep {
  const now = pointer(channel);
  const there = now === version.number;
  return {
    allowed: takes(channel, version) && (!stale || there),
    run: ({ catalogue }) =>
      catalogue.moveChannel({
        ...{ image: modelImage, channel: channel.name, to: version.number, by: 'model', why: 'model' },
        expect: stale ? '9.9.9' : (now ?? null),
      }),
    apply() {
      version.named = true;
      if (!there) pointAt(channel, version.number);
    },
  };
}

/** Every request is one of its own: a second one with the id of the first would change nothing. */
let asked = 0;

function withdraw(model: CatalogueModel, version: ModelVersion): PlayedStep {
  asked += 1;
  const operation = `withdraw-${asked}`;
  const left = model.channels.filter((channel) => pointer(channel) === version.number);
  const fallback = (channel: ModelChannel) =>
    channel.trail.findLast((number) => {
      const target = model.versions.find((one) => one.number === number);
      if (number === version.number || target === undefined || !takes(channel, target)) return false;
      return channel.forTesting || target.good;
    });
  return {
    allowed: version.state !== 'deleted',
    run: ({ lifecycle }) =>
      lifecycle.withdrawals.withdraw({
        ...{ image: modelImage, version: version.number, reason: 'model', withDescendants: false },
        ...{ by: 'model', operation },
      }),
    apply() {
      for (const channel of left) pointAt(channel, fallback(channel));
      if (version.state === 'available' || version.state === 'candidate') version.before = version.state;
      version.state = 'withdrawn';
    },
  };
}

/** It is what it was, unless a test failed since. */
function restore(version: ModelVersion): PlayedStep {
  asked += 1;
  const operation = `restore-${asked}`;
  return {
    allowed: version.state === 'withdrawn',
    run: ({ lifecycle }) =>
      lifecycle.withdrawals.restore(
        { image: modelImage, version: version.number },
        { by: 'model', why: 'model', operation },
      ),
    apply() {
      version.state = version.good ? version.before : 'candidate';
    },
  };
}

/** Why rule 7 keeps it; what a channel could go back to is kept by the store by a longer memory than the model's. */
function neededBy(model: CatalogueModel, version: ModelVersion): string | undefined {
  const { number } = version;
  if (model.channels.some((channel) => pointer(channel) === number)) return 'a channel';
  const usable = model.versions.filter(({ state }) => state === 'candidate' || state === 'available');
  if (usable.at(-1) === version) return 'being the newest';
  if (usable.findLast(({ state, good }) => state === 'available' && good) === version) return 'latest';
  if (model.versions.some(({ parent, state }) => parent === number && state !== 'deleted')) {
    return 'a descendant';
  }
  return undefined;
}

/** Taken out of use, looked at again, deleted: as the operation does it. What is kept stays as it was. */
function prune(model: CatalogueModel, version: ModelVersion): PlayedStep {
  asked += 1;
  const by = { by: 'model', operation: `prune-${asked}` };
  const name = { image: modelImage, version: version.number };
  let isGone = false;
  return {
    allowed: true,
    async run({ lifecycle: { retention } }) {
      const keepers = await retention.condemn(name, {}, by);
      const needed = neededBy(model, version);
      if (keepers.length === 0) {
        if (needed !== undefined) throw new Error(`${version.number} was to go in spite of ${needed}`);
        await retention.finish(name, 'model');
        isGone = true;
      } else if (needed === undefined && keepers.some(({ kind }) => kind !== 'channel-rollback')) {
        throw new Error(`${version.number} is kept for ${JSON.stringify(keepers)}`);
      }
    },
    apply() {
      if (isGone) version.state = 'deleted';
    },
  };
}

/** Undoing a build: only of a candidate that nobody ever named. */
function drop(model: CatalogueModel, version: ModelVersion): PlayedStep | undefined {
  if (model.versions.some(({ parent }) => parent === version.number)) return undefined;
  return {
    allowed: version.state === 'candidate' && !version.named,
    run: ({ catalogue }) => catalogue.dropVersion(modelImage, version.number),
    apply() {
      model.versions.splice(model.versions.indexOf(version), 1);
    },
  };
}

function addChannel(
  model: CatalogueModel,
  { forTesting, public: isPublic }: Extract<CatalogueAction, { do: 'add-channel' }>,
): PlayedStep {
  const name = `extra-${model.channels.length}`;
  const known = model.channels.find((channel) => channel.name === name);
  return {
    allowed: known === undefined || (known.forTesting === forTesting && known.public === isPublic),
    run: ({ catalogue }) =>
      catalogue.createChannel({ image: modelImage, name, forTesting, public: isPublic, after: 'staging' }),
    apply() {
      if (known === undefined) model.channels.push({ name, forTesting, public: isPublic, trail: [] });
    },
  };
}

function deleteChannel(model: CatalogueModel, channel: ModelChannel): PlayedStep {
  return {
    allowed: true,
    run: ({ catalogue }) =>
      catalogue.deleteChannel({ image: modelImage, channel: channel.name, by: 'model', why: 'model' }),
    apply() {
      model.channels.splice(model.channels.indexOf(channel), 1);
    },
  };
}

function pickFrom<T>(items: readonly T[], index: number): T | undefined {
  return items.length === 0 ? undefined : items[index % items.length];
}

interface LoggedState {
  readonly versions: Readonly<Record<string, string>>;
  readonly channels: Readonly<Record<string, string>>;
}

/** The catalogue of an image as its log of events alone tells it. */
async function stateFromEvents({ events }: Store, image: string): Promise<LoggedState> {
  const versions = new Map<string, string>();
  const channels = new Map<string, string>();
  for (let after = 0; ; ) {
    const page = await events.list({ subject: `image/${image}`, after, limit: 500 });
    for (const { type, data } of page) {
      const { version = '', state = '', channel = '', to } = data as Readonly<Record<string, string>>;
      if (type === 'version.added') versions.set(version, 'candidate');
      if (type === 'version.state') versions.set(version, state);
      if (type === 'version.dropped') versions.delete(version);
      if (type === 'channel.moved' && typeof to === 'string') channels.set(channel, to);
      else if (type === 'channel.moved' || type === 'channel.deleted') channels.delete(channel);
    }
    const last = page.at(-1);
    if (last === undefined) return { versions: sortedObject(versions), channels: sortedObject(channels) };
    after = last.id;
  }
}

function sortedObject(entries: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Every broken rule in a sentence; none when all hold. */
export async function brokenRules(store: Store, image = modelImage): Promise<readonly string[]> {
  const { catalogue } = store;
  const broken: string[] = [];
  const { items: versions } = await catalogue.listVersions(image, { limit: 1000 });
  const { items: moves } = await catalogue.listMoves(image, undefined, { limit: 1000 });
  const byNumber = new Map(versions.map((version) => [version.version, version]));
  for (const channel of await catalogue.listChannels(image)) {
    const own = moves.filter((move: ChannelMove) => move.channel === channel.name);
    const fromLog = stateFromMoves(own)?.version;
    if (fromLog !== channel.version) {
      broken.push(`rule 8: ${channel.name} is ${channel.version}, and its log says ${fromLog}`);
    }
    if (channel.managed) {
      const newest = await newestGood(catalogue, versions);
      if (newest?.version !== channel.version) {
        broken.push(`latest is ${channel.version}, and the newest good one is ${newest?.version}`);
      }
    }
    if (channel.version === undefined) continue;
    const version = byNumber.get(channel.version);
    if (version === undefined || version.state === 'deleted' || version.state === 'withdrawn') {
      broken.push(
        `rule 7: ${channel.name} points at ${channel.version}, which is ${version?.state ?? 'missing'}`,
      );
    }
    if (!channel.forTesting && version?.state === 'candidate') {
      broken.push(`rule 4: ${channel.name} points at the candidate ${channel.version}`);
    }
    if (channel.public && version?.restricted === true) {
      broken.push(`${channel.name} is public and points at the restricted ${channel.version}`);
    }
    if (version !== undefined && version.digest !== channel.digest) {
      broken.push(`rule 5: ${channel.name} has another digest than ${channel.version}`);
    }
  }
  for (const { version, state, origin } of versions) {
    if (state === 'deleted' || !('parent' in origin) || origin.parent === undefined) continue;
    const parent = byNumber.get(origin.parent.replace(/^.*:/, ''));
    if (parent === undefined || parent.state === 'deleted') {
      broken.push(`rule 7: the parent of ${version} is ${parent?.state ?? 'missing'}`);
    }
  }
  const channels = await catalogue.listChannels(image);
  const state: LoggedState = {
    versions: sortedObject(versions.map((one) => [one.version, one.state])),
    channels: sortedObject(channels.flatMap(({ name, version }) => (version ? [[name, version]] : []))),
  };
  const logged = JSON.stringify(await stateFromEvents(store, image));
  if (logged !== JSON.stringify(state)) {
    broken.push(`rule 8: the state is ${JSON.stringify(state)}, and the log tells ${logged}`);
  }
  return broken;
}

/** The available version that was made last, of those whose newest test passed. */
async function newestGood(
  catalogue: Store['catalogue'],
  versions: readonly VersionRecord[],
): Promise<VersionRecord | undefined> {
  const newestFirst = versions
    .filter(({ state }) => state === 'available')
    .sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
  for (const version of newestFirst) {
    if (testsPassed(version.digest, await catalogue.listEvidence(version.digest))) return version;
  }
  return undefined;
}

/** What the store is like, in the model's words, to compare the two. */
export async function compareWithModel(
  { catalogue }: Store,
  model: CatalogueModel,
): Promise<{ readonly store: unknown; readonly model: unknown }> {
  const channels = (await catalogue.listChannels(modelImage)).filter(({ managed }) => !managed);
  const { items: versions } = await catalogue.listVersions(modelImage, { limit: 1000 });
  const sorted = (entries: readonly (readonly [string, string | undefined])[]) =>
    Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    store: {
      channels: sorted(channels.map(({ name, version }) => [name, version])),
      versions: sorted(versions.map(({ version, state }) => [version, state])),
    },
    model: {
      channels: sorted(model.channels.map((channel) => [channel.name, pointer(channel)])),
      versions: sorted(model.versions.map(({ number, state }) => [number, state])),
    },
  };
}
