// Records the unit that a test was made of, so that its evidence can name it.
import { type ComposedVersion, composedId } from '../../domain/evidence/tested-combination.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { OperationDeps } from '../common/deps.ts';

/** What only the test knows: the configs and reports of its machines. */
export interface TestedUnit {
  readonly agent?: string;
  /** The node config as it was given to the machines; empty when none was. */
  readonly nodeConfig: string;
}

/** The unit's id. The same unit again gets the same one. */
export async function recordComposed(
  deps: OperationDeps,
  { image, version, digest }: Resolution,
  { agent, nodeConfig }: TestedUnit,
): Promise<string> {
  const record = await deps.catalogue.getVersion(image, version);
  const origin = record?.origin.kind === 'built' ? record.origin : undefined;
  const schemaVersion = schemaVersionOf(nodeConfig);
  const composed: ComposedVersion = {
    imago: deps.imagoVersion,
    ...{ image, version, digest },
    ...(origin?.recipeDigest === undefined ? {} : { recipeDigest: origin.recipeDigest }),
    ...(origin === undefined ? {} : { lockDigest: origin.lockDigest }),
    ...(agent === undefined ? {} : { agent }),
    ...(schemaVersion === undefined
      ? {}
      : { nodeConfig: { schemaVersion, digest: `sha256:${deps.sha256(nodeConfig)}` } }),
    ...(record?.kubernetes === undefined ? {} : { kubernetes: record.kubernetes }),
  };
  return (await deps.promotion.addComposed(composedId(composed, deps.sha256), composed)).id;
}

function schemaVersionOf(nodeConfig: string): number | undefined {
  if (nodeConfig === '') return undefined;
  const { schemaVersion } = Object(JSON.parse(nodeConfig)) as { readonly schemaVersion?: unknown };
  return typeof schemaVersion === 'number' ? schemaVersion : undefined;
}
