// Reading of where versions come from, what was made from them, and what runs them.

import type { RecipeCommit } from '../../domain/image/recipe-commit.ts';
import type { VersionRecord } from '../../domain/image/version.ts';
import type { Behind, LineageGraph, ParentStatus } from '../../domain/lineage/lineage.ts';
import type { NodeRecord } from '../../domain/node/node.ts';
import type { Page, PageQuery } from '../page.ts';

export interface VersionName {
  readonly image: string;
  readonly version: string;
}

export interface Ancestor extends VersionRecord {
  /** How this version relates to its own parent; absent when it has none that is known. */
  readonly parent?: ParentStatus;
}

export interface Ancestry {
  /** The version itself first, then its parent, and so on to the first. */
  readonly items: readonly Ancestor[];
  readonly graph: LineageGraph;
}

export interface Descendant extends VersionRecord {
  /** Live nodes that run it. */
  readonly nodes: number;
  /** Pools whose new nodes are made from it. */
  readonly pools: readonly string[];
}

export interface Descent {
  /** The version itself first, then everything made from it, nearest first. */
  readonly items: readonly Descendant[];
  /** Present when it was asked for. */
  readonly graph?: LineageGraph;
}

/** A pool with live nodes of some versions, or whose new nodes are made from them. */
export interface PoolUse {
  readonly pool: string;
  /** Whether new nodes would still be made from one of the versions. */
  readonly model: boolean;
  /** Whether the pool follows a channel, so that it changes its version automatically. */
  readonly follows?: string;
  readonly nodes: number;
}

export interface WhichAnswer extends NodeRecord {
  /** The current state of the version; absent if the catalog does not know it. */
  readonly versionState?: VersionRecord['state'];
  /** The commit of the recipe that the version was built from; absent if it is unknown. */
  readonly source?: RecipeCommit;
  /** The move that answered, as it was recorded. */
  readonly moved?: { readonly by: string; readonly why: string; readonly at: string };
}

/** Versions that do not exist have no lineage: lists of it are empty, `ancestry` and `descent` are `undefined`. */
export interface Lineage {
  ancestry(version: VersionName): Promise<Ancestry | undefined>;
  descent(version: VersionName, graph: boolean): Promise<Descent | undefined>;
  /** Live nodes that run the version, or with `descendants` anything made from it; by name. */
  nodes(version: VersionName, descendants: boolean, query: PageQuery): Promise<Page<NodeRecord>>;
  /** The pools that use any of the versions, by name. */
  poolsOf(versions: readonly VersionName[]): Promise<readonly PoolUse[]>;
  /** `undefined` when the image has no available version. */
  behind(version: VersionName): Promise<Behind | undefined>;
  /** What the node of that name was made from: the live one, or the last; with `at` the one that there was then. */
  which(node: string, at?: string): Promise<WhichAnswer | undefined>;
}
