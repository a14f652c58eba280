// Changes what new nodes of a pool are made from. Existing nodes stay as they are: they move by a rollout.
import * as z from 'zod';
import { poolImage } from '../../domain/pool/pool.ts';
import type { Json } from '../../domain/value/json.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { type OperationDeps, refuseMixing } from '../common/deps.ts';
import { publishStep } from '../gallery/publish-step.ts';
import { requireStillUsable, resolved, resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { poolAccess, recordPoolNodes, requirePool } from '../node/pool-nodes.ts';
import { requireImageAbilities } from '../node-config/check-image.ts';
import { readStoredConfig } from '../node-config/text.ts';
import { poolModel } from './create.ts';

const poolSetImageInput = z.object({
  name: z.string(),
  reference: z.string(),
  pin: z.boolean().default(false),
});
export type PoolSetImageInput = z.infer<typeof poolSetImageInput> & { readonly provider?: undefined };

export function poolSetImageOperation(deps: OperationDeps): OperationKind<PoolSetImageInput> {
  return {
    kind: 'pool-set-image',
    parse: (input) => parseInput(poolSetImageInput, input),
    async plan({ name, reference }) {
      const pool = await requirePool(deps, name);
      const version = await resolveUsable(deps, reference);
      await requireImageAbilities(deps, version, readStoredConfig(pool.nodeConfig));
      refuseMixing(deps.provider(pool.provider), version);
      return [
        `New nodes of pool ${name} come from ${version.image}:${version.version} instead of ${pool.image}:${pool.version}; existing nodes stay.`,
      ];
    },
    steps: () => [
      resolveStep<PoolSetImageInput>(deps),
      publishStep<PoolSetImageInput>(
        deps,
        async ({ input }) => (await requirePool(deps, input.name)).provider,
      ),
      rememberStep(deps),
      modelStep(deps),
      recordStep(deps),
    ],
  };
}

function rememberStep(deps: OperationDeps): WorkStep<PoolSetImageInput> {
  return {
    name: 'remember',
    async do(context) {
      const { input, signal } = context;
      const pool = await requirePool(deps, input.name);
      await requireImageAbilities(deps, resolved(context), readStoredConfig(pool.nodeConfig));
      refuseMixing(deps.provider(pool.provider), resolved(context));
      await recordPoolNodes(deps, poolAccess(deps, pool.provider, signal), pool);
      return { ...pool } satisfies Json;
    },
  };
}

function modelStep(deps: OperationDeps): WorkStep<PoolSetImageInput> {
  return {
    name: 'model',
    async do(context) {
      await requireStillUsable(deps, resolved(context));
      await writeModel(deps, context, resolved(context));
      return undefined;
    },
    async verify(context) {
      const { pools, options } = poolAccess(deps, before(context).provider, context.signal);
      const now = await pools.getPool(context.input.name, options);
      return now?.model.digest === resolved(context).digest ? null : undefined;
    },
    async undo(context) {
      await writeModel(deps, context, before(context));
    },
  };
}

async function writeModel(
  deps: OperationDeps,
  context: StepContext<PoolSetImageInput>,
  version: Pick<PoolRecord, 'image' | 'version' | 'digest'>,
): Promise<void> {
  const pool = before(context);
  const { pools, options } = poolAccess(deps, pool.provider, context.signal);
  const now = await pools.getPool(pool.name, options);
  if (now === undefined || now.model.digest === version.digest) return;
  const { forwards } = now.model;
  const model = {
    ...(await poolModel(deps, pool, version)),
    ...(forwards === undefined ? {} : { forwards }),
  };
  await pools.setModel(pool.name, model, { ifMatch: now.etag }, options);
}

function recordStep(deps: OperationDeps): WorkStep<PoolSetImageInput> {
  return {
    name: 'record',
    async do(context) {
      const { input } = context;
      const pool = await deps.fleet.setPoolModel(input.name, poolImage(resolved(context), input));
      return { name: pool.name, image: pool.image, version: pool.version, digest: pool.digest };
    },
    async undo(context) {
      await deps.fleet.setPoolModel(context.input.name, before(context), { back: true });
    },
  };
}

function before(context: StepContext<PoolSetImageInput>): PoolRecord {
  return requireResult<PoolRecord>(context, 'remember');
}
