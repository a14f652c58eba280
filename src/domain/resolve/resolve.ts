// From a reference to one exact version. Whoever holds the catalogue passes in what it has of the image; the
// answer, and what a missing one was near to, is decided here.
import type { ChannelMove, ChannelRecord } from '../channel/channel.ts';
import { ImagoError } from '../error/imago-error.ts';
import { formatReference, parseReference, type Reference } from '../image/reference.ts';
import { newestOf, type VersionRecord } from '../image/version.ts';
import { compareNumbers, parseNumber } from '../image/version-number.ts';
import { isUsable, type VersionState } from '../image/version-state.ts';
import { didYouMean, orList } from '../value/suggest.ts';

/** An exact answer, and the move that gave it when a channel was asked for. */
export interface Resolution {
  readonly reference: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly state: VersionState;
  /** Made by a simulation: there is no disk. */
  readonly simulated?: true;
  readonly channel?: string;
  readonly move?: number;
}

type KnownVersion = Pick<VersionRecord, 'version' | 'digest' | 'state' | 'createdAt'> & {
  readonly simulated?: boolean;
};

/** What is known of the image that a reference names. */
export interface ImageContents {
  readonly versions: readonly KnownVersion[];
  readonly channels: readonly ChannelRecord[];
  /** The move that emptied the channel that the reference names. */
  readonly emptied?: ChannelMove | undefined;
}

/**
 * The exact version. A withdrawn one is an answer too, when it was named exactly: its `state` says so. Throws
 * `version-not-found`, `channel-not-found` or `channel-empty`, with the nearest that exists in the hint.
 */
export function resolveReference(asked: string | Reference, contents: ImageContents): Resolution {
  const reference = typeof asked === 'string' ? parseReference(asked) : asked;
  const { version, channel } = find(reference, contents);
  return {
    reference: formatReference(reference),
    image: reference.image,
    version: version.version,
    digest: version.digest,
    state: version.state,
    ...(version.simulated ? { simulated: true } : {}),
    ...(channel === undefined ? {} : { channel: channel.name }),
    ...(channel?.move === undefined ? {} : { move: channel.move }),
  };
}

/**
 * Parses the reference of a command that moves nodes, or copies or withdraws a version. Throws `reference-inexact` for a
 * bare name, with the newest version in its hint.
 */
export function requireExact(asked: string | Reference, newest?: string): Reference {
  const reference = typeof asked === 'string' ? parseReference(asked) : asked;
  if (reference.kind !== 'image') return reference;
  const { image } = reference;
  throw new ImagoError(
    'reference-inexact',
    `\`${image}\` is not exact: it is the name of an image, without a version or channel.`,
    {
      hint: `Pass a version or channel, for example \`${image}:production\`. ${newest === undefined ? `See \`imago image list ${image}\`.` : `The newest is \`${image}:${newest}\`.`}`,
    },
  );
}

interface Found {
  readonly version: KnownVersion;
  readonly channel?: ChannelRecord;
}

function find(reference: Reference, { versions, channels, emptied }: ImageContents): Found {
  switch (reference.kind) {
    case 'image': {
      const version = newestOf(versions.filter(({ state }) => isUsable(state)));
      if (version === undefined) throw versionNotFound(reference, versions);
      return { version };
    }
    case 'version': {
      const version = versions.find((known) => known.version === reference.version);
      if (version === undefined || version.state === 'deleted') throw versionNotFound(reference, versions);
      return { version };
    }
    case 'digest': {
      const same = versions.filter(({ digest, state }) => digest === reference.digest && state !== 'deleted');
      const version = newestOf(same.filter(({ state }) => isUsable(state))) ?? newestOf(same);
      if (version === undefined) throw versionNotFound(reference, versions);
      return { version };
    }
    case 'channel': {
      const channel = channels.find(({ name }) => name === reference.channel);
      if (channel === undefined) {
        throw channelNotFound(
          reference.image,
          reference.channel,
          channels.map(({ name }) => name),
        );
      }
      if (channel.version === undefined) throw channelEmpty(reference.image, reference.channel, emptied);
      const version = versions.find((known) => known.version === channel.version);
      if (version === undefined) throw lostVersion(channel);
      return { version, channel };
    }
  }
}

export function imageNotFound(name: string, known: Iterable<string>): ImagoError {
  return new ImagoError('image-not-found', `There is no image ${name}.`, {
    hint: didYouMean(name, known) ?? 'See `imago image list`.',
  });
}

export function channelNotFound(image: string, channel: string, known: Iterable<string>): ImagoError {
  const suggestion = didYouMean(channel, known, (name) => `\`${image}:${name}\``);
  return new ImagoError('channel-not-found', `Image ${image} has no channel ${channel}.`, {
    hint: suggestion ?? `See \`imago channel list ${image}\`.`,
  });
}

/** Says why the channel is empty, if a move emptied it. */
export function channelEmpty(image: string, channel: string, emptied?: ChannelMove): ImagoError {
  const why =
    emptied === undefined
      ? 'does not point at a version yet.'
      : `is empty since ${emptied.at}: it left ${emptied.from} (${emptied.why}), and no version replaced it.`;
  return new ImagoError('channel-empty', `${image}:${channel} ${why}`, {
    hint: `Move it with \`imago channel promote ${image}:VERSION --to ${channel}\`.`,
  });
}

export function channelEmptyAt(image: string, channel: string, time: Date, firstMove?: string): ImagoError {
  const at = time.toISOString();
  return new ImagoError('channel-empty', `${image}:${channel} did not point at a version at ${at}.`, {
    hint: firstMove === undefined ? 'It never did.' : `See \`imago channel history ${image}:${channel}\`.`,
  });
}

export function madeLater({ image, version }: Pick<Resolution, 'image' | 'version'>, at: string): ImagoError {
  return new ImagoError('version-not-found', `${image}:${version} was made later, at ${at}.`);
}

/** Says why there is no such version (never made, or deleted) and which usable ones are near. */
export function versionNotFound(
  reference: Exclude<Reference, { kind: 'channel' }>,
  known: readonly Pick<VersionRecord, 'version' | 'state'>[],
): ImagoError {
  const usable = known.filter(({ state }) => isUsable(state)).map(({ version }) => version);
  const { image } = reference;
  if (reference.kind !== 'version') {
    const message =
      reference.kind === 'image'
        ? `Image ${image} has no version that could be used.`
        : `Image ${image} has no version with the digest ${reference.digest}.`;
    return new ImagoError('version-not-found', message, { hint: `See \`imago image list ${image}\`.` });
  }
  const deleted = known.some(({ version }) => version === reference.version);
  const near = nearestVersions(reference.version, usable).map((version) => `\`${image}:${version}\``);
  return new ImagoError(
    'version-not-found',
    deleted
      ? `${image}:${reference.version} was deleted.`
      : `Image ${image} has no version ${reference.version}.`,
    {
      hint:
        near.length === 0 ? `See \`imago image list ${image}\`.` : `The nearest that exist: ${orList(near)}.`,
    },
  );
}

/** The number just below, the one just above and the greatest, without repetition. */
export function nearestVersions(wanted: string, known: readonly string[]): readonly string[] {
  const number = parseNumber(wanted);
  const sorted = known
    .map((text) => ({ text, order: compareNumbers(parseNumber(text), number), value: parseNumber(text) }))
    .sort((a, b) => compareNumbers(a.value, b.value));
  const below = sorted.findLast(({ order }) => order < 0);
  const above = sorted.find(({ order }) => order > 0);
  const picked = [below, above, sorted.at(-1)].flatMap((entry) => (entry === undefined ? [] : [entry.text]));
  return [...new Set(picked)];
}

function lostVersion(channel: ChannelRecord): ImagoError {
  return new ImagoError(
    'internal',
    `${channel.image}:${channel.name} points at ${channel.version}, which is not in the catalogue.`,
  );
}
