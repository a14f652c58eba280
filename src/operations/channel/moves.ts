// Channels and their moves, as operations return and audit them.
import type { ChannelMove, ChannelRecord } from '../../ports/database/catalog.ts';

export interface Moved {
  readonly image: string;
  readonly channel: string;
  readonly version: string | null;
  readonly digest: string | null;
  readonly move: number;
}

export function moved({ image, channel, to, toDigest, id }: ChannelMove): Moved {
  return { image, channel, version: to ?? null, digest: toDigest ?? null, move: id };
}

/** Where the channel points, for the audit. */
export function channelTrail({ image, name, version, digest, move }: ChannelRecord) {
  return { image, channel: name, version, digest, move };
}
