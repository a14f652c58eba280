// What a gallery's own `latest` is to be. Galleries know nothing of channels: they take the highest number of what is
// not left out. So what channels point at is offered, and what a channel has left, with a higher number, is left out.
import { type ChannelMove, type ChannelRecord, latestChannel } from '../channel/channel.ts';
import { channelLine } from '../channel/minor-channel.ts';
import { compareVersions } from '../image/version-number.ts';
import type { GalleryRecord } from './gallery.ts';

export interface GalleryOffer {
  /** Offered as `latest`. */
  readonly offered: readonly string[];
  /** Never to be the gallery's `latest`. What is in neither list stays as it is. */
  readonly leftOut: readonly string[];
}

/** A channel of one Kubernetes version has the galleries of the channel whose place it takes, and its own. */
export function standsFor({ channels }: Pick<GalleryRecord, 'channels'>, channel: string): boolean {
  return channels.includes(channel) || channels.includes(channelLine(channel)?.base ?? channel);
}

/** Whether the galleries that stand for the channel offer what it points at: testers name exact versions. */
export function isOffering({ name, forTesting }: Pick<ChannelRecord, 'name' | 'forTesting'>): boolean {
  return !forTesting && name !== latestChannel;
}

/** Of all channels that are offered in one gallery, each with its whole log. */
export function galleryOffer(
  channels: readonly { readonly version: string; readonly moves: readonly ChannelMove[] }[],
): GalleryOffer {
  const offered = new Set(channels.map(({ version }) => version));
  const leftOut = new Set<string>();
  for (const { version, moves } of channels) {
    for (const { to } of moves) {
      if (to === undefined || offered.has(to) || compareVersions(to, version) < 0) continue;
      leftOut.add(to);
    }
  }
  return { offered: [...offered].sort(compareVersions), leftOut: [...leftOut].sort(compareVersions) };
}
