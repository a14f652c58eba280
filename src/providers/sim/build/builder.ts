// The simulated builder: simulated minutes, layer by layer, and a digest that follows from the lock. Finished layers are
// stored, so an interrupted build resumes where it stopped.

import { admit, look } from '../../../cloud/state/call.ts';
import { type Bend, bendOf, sha256 } from '../../../cloud/state/cloud.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { buildMethods } from '../../../domain/recipe/schema.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { Builder, BuildProgress, BuildRequest, SealedDisk } from '../../../ports/provider/builder.ts';
import type { SimContext } from '../world/context.ts';
import { readTraits, traitsOf } from '../world/traits.ts';
import { diskBytesOf, type Layer, layersOf, lockOf } from './plan.ts';
import { createSharedWork } from './shared-work.ts';

interface SealedRow {
  readonly digest: string;
  readonly diskDigest: string;
  readonly diskBytes: number;
}

type Tell = (event: (progress: BuildProgress) => void) => void;

const partsOfLayer = 5;

export function simBuilder(context: SimContext): Builder {
  const { clock, world } = context;
  const builds = createSharedWork<(progress: BuildProgress) => void, SealedDisk>();
  return {
    methods: buildMethods,
    knownLock: lockOf,
    async lock(recipe, progress, options) {
      const { factor, failure } = bendOf(options);
      progress.progress(0, 1, 'resolving the inputs of the recipe');
      await clock.sleep(context.durationOf('lock', recipeName(recipe)) * factor, options.signal);
      if (failure !== undefined) throw new ImagoError('provider-failed', failure.message);
      progress.progress(1, 1, 'every input has an exact version');
      return lockOf(recipe, options.base);
    },
    async build(request, progress, options) {
      admit(context, `build ${request.lockDigest}`, options);
      return builds.join(
        request.lockDigest,
        options.signal,
        (event) => event(progress),
        (signal, tell) => build(context, request, signal, tell, bendOf(options)),
      );
    },
    async remember({ lock, lockDigest }, { digest, diskDigest, sizeBytes }, options) {
      admit(context, `build ${lockDigest}`, options);
      world.transaction(() => {
        const known = world.get<{ traits: string }>('SELECT traits FROM sealedDisk WHERE digest = ?', digest);
        const before = readTraits(known?.traits ?? '{}');
        const { guest } = before;
        const traits = JSON.stringify({ ...before, ...traitsOf(lock), ...(guest && { guest }) });
        world.run('DELETE FROM sealedDisk WHERE digest = ?', digest);
        world.run(
          'INSERT OR IGNORE INTO sealedDisk VALUES (?, ?, ?, ?, ?, ?)',
          ...[lockDigest, digest, diskDigest, sizeBytes, traits, world.time()],
        );
      });
    },
    find: (lockDigest, options) =>
      look(context, options, () => {
        const row = world.get<SealedRow>('SELECT * FROM sealedDisk WHERE lockDigest = ?', lockDigest);
        return row && { digest: row.digest, diskDigest: row.diskDigest, sizeBytes: row.diskBytes };
      }),
  };
}

function recipeName(recipe: Json): string {
  return typeof recipe === 'object' && recipe !== null && 'name' in recipe ? String(recipe.name) : '';
}

async function build(
  context: SimContext,
  request: BuildRequest,
  signal: AbortSignal,
  tell: Tell,
  bend: Bend,
): Promise<SealedDisk> {
  const layers = layersOf(request.lock);
  const total = layers.length * partsOfLayer + 1;
  for (const [index, layer] of layers.entries()) {
    await buildLayer(
      context,
      layer,
      signal,
      bend.factor,
      (part, sentence) => tell((progress) => progress.progress(index * partsOfLayer + part, total, sentence)),
      (line) => tell((progress) => progress.log(line)),
    );
    if (layer.name === 'components' && traitsOf(request.lock).breaks === 'build') {
      throw new ImagoError(
        'build-failed',
        'The component layer failed: a unit test of the recipe did not pass.',
      );
    }
  }
  if (bend.failure !== undefined) throw new ImagoError('provider-failed', bend.failure.message);
  const disk = seal(context, request);
  tell((progress) => progress.progress(total, total, `sealed ${disk.digest}`));
  return disk;
}

async function buildLayer(
  context: SimContext,
  layer: Layer,
  signal: AbortSignal,
  factor: number,
  progress: (part: number, sentence: string) => void,
  log: (line: string) => void,
): Promise<void> {
  const { world, clock } = context;
  if (world.get('SELECT 1 FROM layer WHERE key = ?', layer.key) !== undefined) {
    log(`layer ${layer.name}: reused ${layer.key.slice(0, 12)}`);
    return progress(partsOfLayer, `layer ${layer.name} is reused`);
  }
  for (let part = 0; part < partsOfLayer; part++) {
    progress(part, `building layer ${layer.name}`);
    await clock.sleep(((layer.seconds * 1000) / partsOfLayer) * factor, signal);
  }
  world.transaction(() => world.run('INSERT OR IGNORE INTO layer VALUES (?, ?)', layer.key, world.time()));
  log(`layer ${layer.name}: built ${layer.key.slice(0, 12)}`);
  progress(partsOfLayer, `layer ${layer.name} is built`);
}

function seal({ world }: SimContext, request: BuildRequest): SealedDisk {
  const disk = sealedFrom(request);
  world.transaction(() =>
    world.run(
      'INSERT OR IGNORE INTO sealedDisk VALUES (?, ?, ?, ?, ?, ?)',
      request.lockDigest,
      disk.digest,
      disk.diskDigest,
      disk.sizeBytes,
      JSON.stringify(traitsOf(request.lock)),
      world.time(),
    ),
  );
  return disk;
}

/** The same lock, the same bytes. */
export function sealedFrom({ lockDigest }: BuildRequest): SealedDisk {
  return {
    digest: `sha256:${sha256('manifest', lockDigest)}`,
    diskDigest: `sha256:${sha256('disk', lockDigest)}`,
    sizeBytes: diskBytesOf(lockDigest),
  };
}
