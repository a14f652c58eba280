// The catalogue as operations and routes see it: images, versions, channels with their moves, evidence.
// Every write is one transaction, and is refused with `owner-stale` when this daemon is no longer active.
import type { Json } from '../domain/json.ts';
import type { Page, PageQuery } from './page.ts';

export type VersionState = 'candidate' | 'available' | 'deprecated' | 'withdrawn' | 'deleted';
export type NumberingPolicy = 'semver' | 'date' | 'calendar' | 'kubernetes' | 'kubernetes-build';

export interface ImageRecord {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly architecture: 'x64' | 'arm64';
  readonly numbering: NumberingPolicy;
  readonly createdAt: string;
}

export type Origin =
  | { readonly kind: 'built'; readonly lockDigest: string }
  | { readonly kind: 'captured'; readonly node: string; readonly parent: string }
  | { readonly kind: 'imported'; readonly from: string };

export interface VersionRecord {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly diskDigest: string;
  readonly sizeBytes: number;
  readonly state: VersionState;
  readonly origin: Origin;
  readonly kubernetes?: string;
  /** Why it is deprecated or withdrawn. */
  readonly reason?: string;
  readonly operation: string;
  readonly createdAt: string;
}

export interface ChannelRecord {
  readonly image: string;
  readonly name: string;
  /** Channels for testing take candidates; the others only available versions. */
  readonly forTesting: boolean;
  readonly managed: boolean;
  readonly version?: string;
  readonly digest?: string;
  /** The move that set it. */
  readonly move?: number;
  readonly movedAt?: string;
}

/** One move of a channel. Kept for ever, also when channel and version are gone. */
export interface ChannelMove {
  readonly id: number;
  readonly image: string;
  readonly channel: string;
  readonly from?: string;
  readonly to: string;
  readonly toDigest: string;
  readonly by: string;
  readonly why: string;
  readonly operation?: string;
  readonly at: string;
}

export interface MoveRequest {
  readonly image: string;
  readonly channel: string;
  readonly to: string;
  /** The version that the caller believes the channel points at (`null`: none); `channel-moved` when it does not. */
  readonly expect?: string | null;
  readonly by: string;
  readonly why: string;
  readonly operation?: string;
}

export interface Evidence {
  readonly id: number;
  readonly digest: string;
  readonly kind: 'test' | 'scan' | 'approval';
  readonly passed: boolean;
  readonly summary: string;
  readonly details: Json;
  readonly by: string;
  readonly operation?: string;
  readonly at: string;
}

/** An exact answer, and the move that gave it when a channel was asked for. */
export interface Resolution {
  readonly reference: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly state: VersionState;
  readonly channel?: string;
  readonly move?: number;
}

export interface Catalogue {
  /** Makes the image with its usual channels (`staging`, `production`, managed `latest`), or returns the one there is. */
  ensureImage(image: Omit<ImageRecord, 'createdAt'>): Promise<ImageRecord>;
  getImage(name: string): Promise<ImageRecord | undefined>;
  listImages(query: PageQuery): Promise<Page<ImageRecord>>;

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
  addVersion(version: Omit<VersionRecord, 'state' | 'createdAt' | 'reason'>): Promise<VersionRecord>;
  /** Takes back a candidate that no channel, pool or node has ever named; its number stays used. Absent: nothing to do. */
  dropVersion(image: string, version: string): Promise<void>;
  getVersion(image: string, version: string): Promise<VersionRecord | undefined>;
  findVersionByDigest(image: string, digest: string): Promise<VersionRecord | undefined>;
  /** The newest version built from this lock that was not deleted. */
  findVersionByLock(image: string, lockDigest: string): Promise<VersionRecord | undefined>;
  /** Newest number first. */
  listVersions(image: string, query: PageQuery): Promise<Page<VersionRecord>>;
  /** Refused with `version-state` when the domain's rules do not allow the change. Moves `latest` in the same transaction. */
  setVersionState(
    image: string,
    version: string,
    to: VersionState,
    change: { readonly by: string; readonly reason?: string },
  ): Promise<VersionRecord>;

  listChannels(image: string): Promise<readonly ChannelRecord[]>;
  getChannel(image: string, channel: string): Promise<ChannelRecord | undefined>;
  /** Moves the pointer and records the move, by the domain's rules. To where it points already: returns the last move. */
  moveChannel(request: MoveRequest): Promise<ChannelMove>;
  /** Newest first. */
  listMoves(image: string, channel: string | undefined, query: PageQuery): Promise<Page<ChannelMove>>;

  addEvidence(evidence: Omit<Evidence, 'id' | 'at'>): Promise<Evidence>;
  listEvidence(digest: string): Promise<readonly Evidence[]>;

  /** The exact version now; throws the not-found errors of the catalogue, with the nearest that exists in the hint. */
  resolve(reference: string): Promise<Resolution>;
}
