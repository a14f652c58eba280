// Hotfixes: components that go to nodes before an image has them, and what a later version has absorbed of them.
import type { HotfixConfig, NodeConfig } from './schema.ts';

/** The config with this hotfix; an earlier one of the same component is replaced. */
export function withHotfix(config: NodeConfig, hotfix: HotfixConfig): NodeConfig {
  const others = (config.hotfixes ?? []).filter(({ component }) => component !== hotfix.component);
  return {
    ...config,
    hotfixes: [...others, hotfix].toSorted((a, b) => (a.component < b.component ? -1 : 1)),
  };
}

/** What an image has of a component. */
export interface OnImage {
  readonly name: string;
  readonly version: string;
  readonly sha256?: string;
}

/**
 * The hotfixes that an image makes unnecessary: it has the component in that very version, and where both digests
 * are known with the same content. An image with a newer version has not absorbed the hotfix but passed it.
 */
export function absorbedHotfixes(
  hotfixes: readonly HotfixConfig[],
  image: readonly OnImage[],
): readonly HotfixConfig[] {
  return hotfixes.filter(({ component, version, sha256, kind }) =>
    image.some(
      (one) =>
        one.name === component &&
        one.version === version &&
        (kind === 'package' || one.sha256 === undefined || one.sha256 === sha256),
    ),
  );
}
