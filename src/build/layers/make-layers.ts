// Makes or takes every layer of a lock: packages by dpkg in the sandbox, everything else straight into archives.
// What does not stand on another layer is made at the same time.
import { createWriteStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ImagoError } from '../../domain/errors.ts';
import { type Lock, packagesIn } from '../../domain/lock.ts';
import type { Recipe } from '../../domain/recipe.ts';
import { expandOne } from '../../domain/recipe-variables.ts';
import { type OpenByteSource, openFileSource } from '../../images/byte-source.ts';
import { nameFileError } from '../../images/file-errors.ts';
import type { MergedTree } from '../../images/merged-tree.ts';
import { rootFiles } from '../../images/root-files.ts';
import { mergeLayers } from '../../images/tar-merge.ts';
import { type TarItem, writeTar } from '../../images/tar-writer.ts';
import { applySettings } from '../../install/apply-settings.ts';
import { installComponent } from '../../install/install-component.ts';
import { containerdStore } from '../containers/containerd-store.ts';
import { storedImage } from '../containers/fetch-image.ts';
import type { InputStore } from '../inputs/input-store.ts';
import { agentName } from '../lock/lock-recipe.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { installableComponent, type ReadText } from './bake-component.ts';
import { captureTree } from './capture-tree.ts';
import {
  archiveScript,
  baseScript,
  installEnvironment,
  packagesScript,
  unpackScript,
} from './install-packages.ts';
import type { LayerCache, OpenLayer } from './layer-cache.ts';
import { layerHost } from './layer-host.ts';
import type { PlannedLayer } from './layer-plan.ts';
import { writeSystemFiles } from './system-files.ts';

export interface LayerContext {
  readonly lock: Lock;
  readonly plan: readonly PlannedLayer[];
  readonly cache: LayerCache;
  readonly inputs: InputStore;
  readonly sandbox: Sandbox;
  /** The build's own folder. */
  readonly folder: string;
  /** Seconds since 1970. */
  readonly startedAt: number;
  readonly signal?: AbortSignal | undefined;
  /** Brings what goes into a layer, should it not be there: a damaged layer is made anew. */
  readonly fetch: (layer: PlannedLayer) => Promise<void>;
  readonly log: (layer: string, line: string) => void;
  /** Before a layer is looked at, and once it is there. */
  readonly onLayer: (layer: PlannedLayer, state: 'begun' | 'made' | 'reused') => void;
}

/** As a tar reader's limits for what Imago itself has written. */
export const ownLayerRules = { maxEntries: 4_000_000, maxBytes: 1024 ** 4, devices: 'allow' } as const;

/** The layers from the bottom up. Each `stored` must be waited for, also when something fails. */
export async function makeLayers(context: LayerContext): Promise<readonly OpenLayer[]> {
  const { plan } = context;
  const recipe = expandOne(context.lock.recipe);
  const opened: OpenLayer[] = [];
  const take = async (layer: PlannedLayer, make: (path: string) => Promise<void>) => {
    context.onLayer(layer, 'begun');
    const { key, name, inputs } = layer;
    const path = join(context.folder, `${plan.indexOf(layer)}.tar`);
    const fetchAndMake = async () => {
      await context.fetch(layer);
      await make(path);
    };
    const open = await context.cache.take({
      key,
      name,
      inputs,
      path,
      signal: context.signal,
      make: fetchAndMake,
    });
    opened.push(open);
    context.onLayer(layer, open.reused ? 'reused' : 'made');
    return open;
  };
  const ofKind = (kind: PlannedLayer['kind']) => plan.filter((layer) => layer.kind === kind);
  const packages = async () => {
    const [base, above] = [requireLayer(plan, 'base'), requireLayer(plan, 'packages')];
    const lower = await take(base, (path) => makeBase(context, path));
    return [lower, await take(above, (path) => makePackages(context, recipe, lower, path))];
  };
  const components = async () => {
    const layers: OpenLayer[] = [];
    for (const layer of ofKind('component'))
      layers.push(await take(layer, (path) => makeComponent(context, layer, path)));
    return layers;
  };
  const images = async () => {
    const layers: OpenLayer[] = [];
    for (const layer of ofKind('images'))
      layers.push(await take(layer, (path) => makeImages(context, recipe, path)));
    return layers;
  };
  try {
    const [below, parts, store] = await allOrFirstFault([packages(), components(), images()]);
    const lower = [...(below ?? []), ...(parts ?? [])];
    const configuration = await take(requireLayer(plan, 'configuration'), (path) =>
      makeConfiguration(context, recipe, lower, path),
    );
    return [...lower, ...(store ?? []), configuration];
  } catch (error) {
    await Promise.allSettled(opened.map(({ stored }) => stored));
    throw error;
  }
}

/** Waits for all of them even when one fails: none may go on behind the back of a build that has ended. */
async function allOrFirstFault<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(work);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

function requireLayer(plan: readonly PlannedLayer[], kind: PlannedLayer['kind']): PlannedLayer {
  const found = plan.find((layer) => layer.kind === kind);
  if (found === undefined) throw new ImagoError('internal', `there is no ${kind} layer`);
  return found;
}

const baseFolder = (context: LayerContext) => join(context.folder, 'base');

async function makeBase(context: LayerContext, path: string): Promise<void> {
  const { lock, sandbox, signal } = context;
  const essential = packagesIn(lock, 'essential');
  const others = packagesIn(lock, 'base').filter((input) => !essential.includes(input));
  const folder = baseFolder(context);
  await sandbox.makeFolder(folder);
  await sandbox.run({
    ...{ what: 'Installing the base system', script: baseScript, env: installEnvironment, signal },
    args: [folder, context.inputs.folder, storePaths(essential), storePaths(others)],
    log: (line) => context.log('base', line),
  });
  await capture(context, join(folder, 'tree'), 'whole', undefined, path);
}

async function makePackages(
  context: LayerContext,
  recipe: Recipe,
  base: OpenLayer,
  path: string,
): Promise<void> {
  const { lock, sandbox, signal } = context;
  const packages = packagesIn(lock, 'packages');
  const anchors = await trustAnchors(context, recipe);
  if (packages.length === 0 && anchors === '') return writeItems([], path);
  const tree = join(baseFolder(context), 'tree');
  if (base.reused) {
    const run = { what: 'Unpacking the base system', script: unpackScript, args: [tree, base.path], signal };
    await sandbox.makeFolder(baseFolder(context));
    await sandbox.run(run);
  }
  const folder = join(context.folder, 'packages');
  await sandbox.makeFolder(folder);
  await sandbox.run({
    ...{ what: 'Installing the packages', script: packagesScript, env: installEnvironment, signal },
    args: [folder, context.inputs.folder, storePaths(packages), tree, anchors],
    log: (line) => context.log('packages', line),
  });
  await withTree([base], context, async (lower) => {
    const whole = existsSync(join(folder, 'whole'));
    await capture(context, join(folder, whole ? 'whole' : 'upper'), whole ? 'whole' : 'upper', lower, path);
  });
}

/** Certificates are taken in as inputs, so that the script finds them in the store. */
async function trustAnchors({ inputs, lock }: LayerContext, recipe: Recipe): Promise<string> {
  const text = textReader(inputs, lock);
  const pairs: string[] = [];
  for (const anchor of recipe.settings.trust ?? []) {
    const { sha256 } = await inputs.addBytes(Buffer.from(await text(anchor)));
    pairs.push(`${anchor.name}=${sha256.slice(0, 2)}/${sha256}`);
  }
  return pairs.join(' ');
}

async function capture(
  context: LayerContext,
  tree: string,
  shows: 'whole' | 'upper',
  lower: MergedTree | undefined,
  path: string,
): Promise<void> {
  const { sandbox, signal, startedAt, lock } = context;
  const archive = sandbox.stream({
    what: 'Reading what was installed',
    script: archiveScript,
    args: [tree],
    signal,
  });
  await writeItems(captureTree({ archive, shows, lower, epoch: lock.epoch, startedAt }), path);
}

async function makeComponent(context: LayerContext, layer: PlannedLayer, path: string): Promise<void> {
  const { inputs, lock, signal } = context;
  const { component } = layer;
  if (component === undefined) throw new ImagoError('internal', `${layer.name} is no component`);
  const host = layerHost({ inputs, epoch: lock.epoch, signal });
  await installComponent(host, await installableComponent(component, lock, textReader(inputs, lock)));
  await writeItems(host.items(), path);
}

async function makeImages({ inputs, lock }: LayerContext, recipe: Recipe, path: string): Promise<void> {
  const images = [];
  for (const { name, pinned } of recipe.images ?? []) {
    const input = lock.inputs.find((one) => one.kind === 'container-image' && one.name === name);
    const manifest = input && (await storedImage(inputs, input.sha256, name));
    if (input === undefined || manifest === undefined) {
      throw new ImagoError('input-missing', `The container image ${name} is not in the cache.`);
    }
    images.push({ name, sha256: input.sha256, manifest, ...(pinned === true && { pinned }) });
  }
  await writeItems(containerdStore(images, inputs, lock.epoch), path);
}

async function makeConfiguration(
  context: LayerContext,
  recipe: Recipe,
  below: readonly OpenLayer[],
  path: string,
): Promise<void> {
  const { inputs, lock, signal } = context;
  await withTree(below, context, async (lower) => {
    const host = layerHost({ inputs, epoch: lock.epoch, lower, signal });
    await writeSystemFiles(host);
    const agent = lock.inputs.find(({ name }) => name === agentName);
    if (agent !== undefined) await host.unpackArchive(agent, '/', {});
    await applySettings(host, recipe.settings, { text: textReader(inputs, lock) });
    async function* items(): AsyncGenerator<TarItem> {
      yield* rootFiles(lock.epoch);
      yield* host.items();
    }
    await writeItems(items(), path);
  });
}

/** Looks into finished layers. */
export async function withTree<T>(
  layers: readonly Pick<OpenLayer, 'name' | 'path'>[],
  context: Pick<LayerContext, 'lock' | 'signal'>,
  work: (tree: MergedTree) => Promise<T>,
): Promise<T> {
  const sources: { name: string; source: OpenByteSource }[] = [];
  try {
    for (const { name, path } of layers) sources.push({ name, source: await openFileSource(path) });
    return await work(
      await mergeLayers(sources, { ...ownLayerRules, epoch: context.lock.epoch, signal: context.signal }),
    );
  } finally {
    for (const { source } of sources) await source.close();
  }
}

export function textReader(inputs: InputStore, lock: Lock): ReadText {
  return async ({ content, file }) => {
    if (content !== undefined) return content;
    const input = lock.inputs.find((one) => one.kind === 'config' && one.name === file);
    const stored = input && (await inputs.find(input.sha256));
    if (stored === undefined)
      throw new ImagoError('input-missing', `The file ${file} is not in the cache any more.`);
    return (await inputs.readBytes(stored)).toString('utf8');
  };
}

export async function writeItems(
  items: Iterable<TarItem> | AsyncIterable<TarItem>,
  path: string,
): Promise<void> {
  try {
    await pipeline(batched(writeTar(items)), createWriteStream(path, { highWaterMark: 1 << 22 }));
  } catch (error) {
    throw nameFileError(error);
  }
}

/** In pieces that are worth a write each. */
async function* batched(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let batch = Buffer.allocUnsafe(batchSize);
  let used = 0;
  for await (const piece of pieces) {
    for (let done = 0; done < piece.length; ) {
      const copied = piece.copy(batch, used, done);
      done += copied;
      used += copied;
      if (used < batchSize) continue;
      yield batch;
      batch = Buffer.allocUnsafe(batchSize);
      used = 0;
    }
  }
  if (used > 0) yield batch.subarray(0, used);
}

const batchSize = 1 << 20;

function storePaths(inputs: readonly { readonly sha256: string }[]): string {
  return inputs.map(({ sha256 }) => `${sha256.slice(0, 2)}/${sha256}`).join(' ');
}
