// Makes a pool from a version or a channel. Its model holds an exact version from the first moment.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { checkPoolName, poolImage } from '../../domain/pool/pool.ts';
import { formatPortForward, parsePortForward } from '../../domain/pool/port-forward.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { PoolModel, PoolSpec } from '../../ports/provider/pools.ts';
import type { OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { type OperationDeps, refuseMixing } from '../common/deps.ts';
import { publishStep } from '../gallery/publish-step.ts';
import { requireStillUsable, resolved, resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { poolAccess, readyPool, recordPoolNodes, waitForPool, waitForPoolGone } from '../node/pool-nodes.ts';
import { requireImageAbilities } from '../node-config/check-image.ts';
import { emptyConfig, readStoredConfig, renderText, storedText } from '../node-config/text.ts';

const poolCreateInput = z.object({
  name: z.string(),
  reference: z.string(),
  capacity: z.int().min(0).max(100_000),
  size: z.string().default('small'),
  provider: z.string().optional(),
  pin: z.boolean().default(false),
  region: z.string().optional(),
  orchestration: z.enum(['uniform', 'flexible']).default('uniform'),
  nodeConfig: z.string().default(storedText(emptyConfig)),
  forwards: z.array(z.string()).max(32).default([]),
});
export type PoolCreateInput = z.infer<typeof poolCreateInput>;

export function poolCreateOperation(deps: OperationDeps): OperationKind<PoolCreateInput> {
  return {
    kind: 'pool-create',
    parse(input) {
      const parsed = parseInput(poolCreateInput, input);
      const forwards = parsed.forwards.map((text) => formatPortForward(parsePortForward(text)));
      return { ...parsed, forwards, nodeConfig: storedText(readStoredConfig(parsed.nodeConfig)) };
    },
    async plan(input) {
      const version = await resolveUsable(deps, input.reference);
      const config = readStoredConfig(input.nodeConfig);
      await requireImageAbilities(deps, version, config);
      await renderText(deps, config, { pool: input.name });
      await requireFreeName(deps, input, version, AbortSignal.timeout(60_000));
      const { follows } = poolImage(version, input);
      return [
        `Make pool ${input.name} of ${input.capacity} nodes from ${version.image}:${version.version} (${version.digest}).`,
        follows === undefined
          ? 'New nodes keep to this version.'
          : `New nodes follow ${version.image}:${follows}.`,
      ];
    },
    steps: () => [
      resolveStep<PoolCreateInput>(deps),
      nameStep(deps),
      publishStep<PoolCreateInput>(deps),
      createStep(deps),
      recordStep(deps),
    ],
  };
}

/** Before anything is made: from here on, what stands under the name is this operation's own. */
function nameStep(deps: OperationDeps): WorkStep<PoolCreateInput> {
  return {
    name: 'name',
    async do(context) {
      const { input, signal } = context;
      await requireImageAbilities(deps, resolved(context), readStoredConfig(input.nodeConfig));
      await requireFreeName(deps, input, resolved(context), signal);
      return undefined;
    },
  };
}

async function requireFreeName(
  deps: OperationDeps,
  input: PoolCreateInput,
  version: Resolution,
  signal: AbortSignal,
): Promise<void> {
  const { name } = input;
  const image = await deps.catalogue.getImage(version.image);
  checkPoolName(name, image?.os ?? 'linux');
  if ((await deps.fleet.getPool(name)) !== undefined) {
    throw new ImagoError('pool-exists', `Pool ${name} exists already.`, {
      hint: `Change it with \`imago pool scale ${name}\` or \`imago pool set-image ${name}\`.`,
    });
  }
  const { provider, pools, options } = poolAccess(deps, input.provider, signal);
  refuseMixing(provider, version);
  if (input.forwards.length > 0 && provider.abilities.forwards !== true) {
    throw new ImagoError('provider-lacks', `Provider ${provider.name} forwards no ports to its nodes.`);
  }
  if ((await pools.getPool(name, options)) !== undefined) {
    throw new ImagoError(
      'pool-exists',
      `Provider ${provider.name} has a pool ${name} that Imago did not make.`,
      {
        hint: 'Choose another name; Imago does not touch what it did not make.',
      },
    );
  }
}

function createStep(deps: OperationDeps): WorkStep<PoolCreateInput> {
  return {
    name: 'create',
    async do(context) {
      const { input } = context;
      const access = poolAccess(deps, input.provider, context.signal);
      await requireStillUsable(deps, resolved(context));
      const spec = await poolSpec(deps, input, resolved(context));
      await access.pools.createPool(spec, access.options);
      await waitForPool(access, input.name, input.capacity, context);
      return { nodes: input.capacity };
    },
    async verify({ input, signal }) {
      const access = poolAccess(deps, input.provider, signal);
      return (await readyPool(access, input.name, input.capacity)) && { nodes: input.capacity };
    },
    async undo({ input, signal }) {
      const access = poolAccess(deps, input.provider, signal);
      await access.pools.deletePool(input.name, access.options);
      await waitForPoolGone(access, input.name, signal);
    },
  };
}

function recordStep(deps: OperationDeps): WorkStep<PoolCreateInput> {
  return {
    name: 'record',
    async do(context) {
      const { input } = context;
      const access = poolAccess(deps, input.provider, context.signal);
      const pool = await deps.fleet.addPool({
        name: input.name,
        provider: access.provider.name,
        orchestration: input.orchestration,
        ...(input.region === undefined ? {} : { region: input.region }),
        size: input.size,
        ...poolImage(resolved(context), input),
        nodeConfig: input.nodeConfig,
      });
      const { count } = await recordPoolNodes(deps, access, pool);
      return {
        name: pool.name,
        image: pool.image,
        version: pool.version,
        digest: pool.digest,
        nodes: count,
      };
    },
    async undo({ input }) {
      await deps.fleet.removePool(input.name);
    },
  };
}

async function poolSpec(deps: OperationDeps, input: PoolCreateInput, version: Resolution): Promise<PoolSpec> {
  return {
    name: input.name,
    ...(input.region === undefined ? {} : { region: input.region }),
    orchestration: input.orchestration,
    capacity: input.capacity,
    model: {
      ...(await poolModel(deps, input, version)),
      ...(input.forwards.length === 0 ? {} : { forwards: input.forwards.map(parsePortForward) }),
    },
  };
}

/** What nodes read is filled in here, its secrets too: what the pool stores only names them. */
export async function poolModel(
  deps: OperationDeps,
  pool: { readonly name: string; readonly size: string; readonly nodeConfig: string },
  version: Pick<Resolution, 'image' | 'version' | 'digest'>,
): Promise<PoolModel> {
  const { image, version: number, digest } = version;
  return {
    image,
    version: number,
    digest,
    size: pool.size,
    nodeConfig: await renderText(deps, readStoredConfig(pool.nodeConfig), { pool: pool.name }),
    tags: { 'imago-digest': digest },
  };
}
