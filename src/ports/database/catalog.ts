// The catalog as operations and routes see it: images, versions, channels with their moves, evidence.
// Every write is one transaction, and is refused with `owner-stale` when this daemon is no longer active.
import type { ChannelMove, ChannelRecord } from '../../domain/channel/channel.ts';
import type { PolicyResult } from '../../domain/channel/decision.ts';
import type { Evidence } from '../../domain/evidence/evidence.ts';
import type { ImageRecord, VersionRecord } from '../../domain/image/version.ts';
import type { VersionState } from '../../domain/image/version-state.ts';
import type { Resolution } from '../../domain/resolve/resolve.ts';
import type { Page, PageQuery } from '../page.ts';

export type { ChannelMove, ChannelRecord } from '../../domain/channel/channel.ts';
export type { Evidence } from '../../domain/evidence/evidence.ts';
export type { ImageRecord, VersionRecord } from '../../domain/image/version.ts';
export type { VersionState } from '../../domain/image/version-state.ts';
export type { Resolution } from '../../domain/resolve/resolve.ts';

export interface MoveRequest {
  readonly image: string;
  readonly channel: string;
  readonly to: string;
  /** The version that the caller believes the channel points at (`null`: none); `channel-moved` when it does not. */
  readonly expect?: string | null;
  /**
   * It goes back to where it was: also to a version whose support has ended, and never (`channel-untested`) to one
   * whose newest test failed, unless the channel is for testing.
   */
  readonly back?: boolean;
  readonly by: string;
  readonly why: string;
  readonly operation?: string | undefined;
  /**
   * What the gates said. The move is refused with `gate-outdated` when there is newer evidence of the digest, or
   * another active policy, than they were evaluated with.
   */
  readonly policy?: PolicyResult | undefined;
}

export interface NewChannel {
  readonly image: string;
  readonly name: string;
  readonly forTesting: boolean;
  readonly public: boolean;
  /** The previous channel in the order. Defaults to the last one. */
  readonly after?: string;
}

export interface LockedVersion extends Pick<VersionRecord, 'image' | 'version' | 'state'> {
  readonly lockDigest: string;
}

export interface Catalogue {
  /**
   * Makes the image with its usual channels (`staging`, `production`, managed `latest`), or returns the one there is.
   * With `channels: false`, a new one has none.
   */
  ensureImage(image: Omit<ImageRecord, 'createdAt'> & { readonly channels?: false }): Promise<ImageRecord>;
  getImage(name: string): Promise<ImageRecord | undefined>;
  /** Records the Kubernetes versions that the recipe of the image lists: retention keeps a version of each. */
  setMatrix(image: string, kubernetes: readonly string[]): Promise<void>;
  listImages(query: PageQuery): Promise<Page<ImageRecord>>;

  /** Every number that the image ever had; empty if there is no such image. */
  usedNumbers(image: string): Promise<readonly string[]>;
  /**
   * Takes a number that was never used in this image, chosen by `choose` from all that were. The same
   * operation asking again gets the same number. Numbers are never given back.
   */
  reserveNumber(
    image: string,
    operation: string,
    choose: (used: readonly string[]) => string,
  ): Promise<string>;
  /** Adds a candidate. The same digest under the same number again changes nothing; another digest is `number-taken`. */
  addVersion(
    version: Omit<VersionRecord, 'state' | 'createdAt' | 'reason' | 'withdrawnFrom'>,
  ): Promise<VersionRecord>;
  /** Deletes a candidate that no channel, pool or node has ever named; its number stays used. Absent: nothing to do. */
  dropVersion(image: string, version: string): Promise<void>;
  getVersion(image: string, version: string): Promise<VersionRecord | undefined>;
  findVersionByDigest(image: string, digest: string): Promise<VersionRecord | undefined>;
  /** The newest version built from this lock that was not deleted. */
  findVersionByLock(image: string, lockDigest: string): Promise<VersionRecord | undefined>;
  /** All versions of all images that were built from these locks and not deleted. */
  listByLocks(lockDigests: readonly string[]): Promise<readonly LockedVersion[]>;
  /**
   * The available ones with this Kubernetes version, or with any patch of it when it has two parts, whose newest test
   * did not fail. Newest first.
   */
  listForKubernetes(image: string, kubernetes: string): Promise<readonly VersionRecord[]>;
  /** Newest number first. */
  listVersions(image: string, query: PageQuery): Promise<Page<VersionRecord>>;
  /**
   * Changes the state by the domain's rules (`checkStateChange`, with the evidence stored for the digest). To the
   * state that it has: changes nothing. Moves `latest` in the same transaction.
   */
  setVersionState(
    image: string,
    version: string,
    to: VersionState,
    change: { readonly by: string; readonly reason?: string },
  ): Promise<VersionRecord>;

  listChannels(image: string): Promise<readonly ChannelRecord[]>;
  getChannel(image: string, channel: string): Promise<ChannelRecord | undefined>;
  /** The same again changes nothing; `channel-exists` when it has other properties. */
  createChannel(channel: NewChannel): Promise<ChannelRecord>;
  /**
   * Deletes the channel, with a last move to nothing; its moves are kept. Throws `channel-managed` for a managed one,
   * `channel-in-use` while pools follow it, and `channel-moved` if it does not point at `expect`. A channel that does
   * not exist is not an error.
   */
  deleteChannel(request: {
    readonly image: string;
    readonly channel: string;
    readonly expect?: string | undefined;
    readonly by: string;
    readonly why: string;
  }): Promise<void>;
  /** Moves the pointer and records the move, by the domain's rules. To where it points already: returns the last move. */
  moveChannel(request: MoveRequest): Promise<ChannelMove>;
  getMove(id: number): Promise<ChannelMove | undefined>;
  /** Newest first; also those of channels that are gone. */
  listMoves(image: string, channel: string | undefined, query: PageQuery): Promise<Page<ChannelMove>>;

  /** A test also moves `latest`, which never stays on what failed its newest one. */
  addEvidence(evidence: Omit<Evidence, 'id' | 'at'>): Promise<Evidence>;
  listEvidence(digest: string): Promise<readonly Evidence[]>;

  /** The exact version now; throws the not-found errors of the catalog, with the nearest that exists in the hint. */
  resolve(reference: string): Promise<Resolution>;
  /**
   * What the reference named at a time, even if channel and version were deleted since (see `state`). Throws as
   * `resolve`, and `input-invalid` for a bare name: what was newest then is not kept.
   */
  resolveAt(reference: string, time: Date): Promise<Resolution>;
}
