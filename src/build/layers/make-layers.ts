// Makes every layer of a lock, or takes it from the cache. Layers that do not depend on each other are made
// concurrently, and a cached layer does not wait for those below it.
import { join } from 'node:path';
import { throwIfAborted } from '../../async/abort.ts';
import { rootFiles } from '../../disk/boot/root-files.ts';
import type { TarItem } from '../../disk/tar/writer.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { applySettings } from '../../install/apply-settings.ts';
import { installComponent } from '../../install/install-component.ts';
import { containerdStore, type StoredImageInput } from '../containers/containerd-store.ts';
import { storedImage } from '../containers/fetch-image.ts';
import { agentName } from '../lock/parts.ts';
import { placeAgent } from './agent-layer.ts';
import { installableComponent, textReader } from './bake-component.ts';
import type { OpenLayer } from './cache.ts';
import type { LayerContext } from './context.ts';
import { layerHost } from './layer-host.ts';
import { withTree, writeItems } from './own-layers.ts';
import { packageLayers, type StackedLayer } from './package-layers.ts';
import type { PlannedLayer } from './plan.ts';
import { refuseSharedPaths } from './shared-paths.ts';
import { writeSystemFiles } from './system-files.ts';

const stacked: ReadonlySet<PlannedLayer['kind']> = new Set(['base', 'packages', 'trust']);

/** The layers from the bottom up. Each `stored` must be awaited, even if something fails. */
export async function makeLayers(context: LayerContext): Promise<readonly OpenLayer[]> {
  const { plan } = context;
  const recipe = expandOne(context.lock.recipe);
  const packages = packageLayers(context);
  const opened: OpenLayer[] = [];

  async function take(layer: PlannedLayer, make: (path: string) => Promise<void>): Promise<OpenLayer> {
    context.onLayer(layer, 'begun');
    const { key, name, inputs } = layer;
    const path = join(context.folder, `${plan.indexOf(layer)}.tar`);
    const fetchAndMake = async () => {
      await context.fetch(layer);
      try {
        await make(path);
      } catch (error) {
        throwIfAborted(context.signal);
        if (!(await context.refetch(layer))) throw error;
        context.log(name, 'an input was damaged in the cache: making the layer again');
        await make(path);
      }
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
  }

  function takeStack(): readonly Promise<OpenLayer>[] {
    const stack: StackedLayer[] = [];
    for (const layer of plan.filter(({ kind }) => stacked.has(kind))) {
      const below = [...stack];
      const make = async (path: string) => {
        await Promise.all(below.map(({ open }) => open));
        // Those below may have taken minutes, and package tools do not look at what they are given.
        await context.fetch(layer);
        await packages.make(layer, below, path);
      };
      stack.push({ layer, open: take(layer, make) });
    }
    return stack.map(({ open }) => open);
  }

  async function takeInTurn(
    kind: PlannedLayer['kind'],
    make: (layer: PlannedLayer, path: string) => Promise<void>,
  ) {
    const layers: OpenLayer[] = [];
    for (const layer of plan.filter((one) => one.kind === kind))
      layers.push(await take(layer, (path) => make(layer, path)));
    return layers;
  }

  async function takeComponents(): Promise<readonly OpenLayer[]> {
    const layers = await takeInTurn('component', (layer, path) => makeComponent(context, layer, path));
    const components = plan.flatMap(({ component }) => component ?? []);
    await refuseSharedPaths(
      layers.flatMap(({ path }, index) => {
        const component = components[index];
        return component === undefined ? [] : [{ component, path }];
      }),
      (recipe.settings.files ?? []).map(({ path }) => path),
      context.signal,
    );
    return layers;
  }

  try {
    const [installed, parts, images] = await allOrFirstFault([
      allOrFirstFault(takeStack()),
      takeComponents(),
      takeInTurn('images', (_, path) => makeImages(context, recipe, path)),
    ]);
    const lower = [...(installed ?? []), ...(parts ?? [])];
    const configuration = plan.filter(({ kind }) => kind === 'configuration');
    const last = await Promise.all(
      configuration.map((layer) => take(layer, (path) => makeConfiguration(context, recipe, lower, path))),
    );
    return [...lower, ...(images ?? []), ...last];
  } catch (error) {
    await Promise.allSettled(opened.map(({ stored }) => stored));
    throw error;
  } finally {
    // They only save time: a build does not fail for want of them.
    await packages.keepTrees().catch(() => undefined);
  }
}

/** Waits for all of them even when one fails: none may go on behind the back of a build that has ended. */
async function allOrFirstFault<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(work);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

async function makeComponent(context: LayerContext, layer: PlannedLayer, path: string): Promise<void> {
  const { inputs, lock, signal } = context;
  const { component } = layer;
  if (component === undefined) throw new ImagoError('internal', `${layer.name} is not a component`);
  const host = layerHost({ inputs, epoch: lock.epoch, signal });
  await installComponent(host, await installableComponent(component, lock, textReader(inputs, lock)));
  await writeItems(host.items(), path);
}

async function makeImages({ inputs, lock }: LayerContext, recipe: Recipe, path: string): Promise<void> {
  const images: StoredImageInput[] = [];
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
    if (agent !== undefined) await placeAgent(host, agent, inputs);
    await applySettings(host, recipe.settings, { text: textReader(inputs, lock) });
    async function* items(): AsyncGenerator<TarItem> {
      yield* rootFiles(lock.epoch);
      yield* host.items();
    }
    await writeItems(items(), path);
  });
}
