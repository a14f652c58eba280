import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Lock, LockedInput } from '../../domain/lock/lock.ts';
import { makeLock } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { type ContentFolder, contentFolder } from '../content/content-folder.ts';
import { buildEpoch, buildRules } from '../lock/rules.ts';
import { layerCache } from './cache.ts';
import type { LayerContext } from './context.ts';
import { makeLayers } from './make-layers.ts';
import { withTree } from './own-layers.ts';
import { planLayers } from './plan.ts';

const content = Buffer.from('the tool that was locked');
const sha256 = createHash('sha256').update(content).digest('hex');

let folder: string;
let inputs: ContentFolder;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-layers-'));
  inputs = contentFolder(folder);
  await mkdir(join(folder, 'work'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const tool = {
  ...{ kind: 'binary', name: 'tool', version: '1', sha256, sizeBytes: content.length },
  source: 'https://tools.example/tool',
} as const satisfies LockedInput;

function lockOf(): Lock {
  const recipe: Recipe = {
    ...{ name: 'node', architecture: 'x86_64', images: [], settings: {} },
    components: [{ name: 'tool', version: '1', from: { url: tool.source }, to: '/usr/bin/tool' }],
  } as unknown as Recipe;
  return makeLock(recipe, [tool], { rules: buildRules, epoch: buildEpoch });
}

/** Of the component's layer alone; `damage` comes between the last check of the input and its use. */
function contextOf(lock: Lock, damage: () => Promise<void>, brings: boolean): LayerContext {
  const unused = () => Promise.reject(new Error('not needed here'));
  return {
    ...{ lock, plan: planLayers(lock).filter(({ kind }) => kind === 'component'), inputs },
    ...{ cache: layerCache(folder), folder: join(folder, 'work'), startedAt: 0 },
    trees: { find: unused, keep: unused },
    sandbox: {} as LayerContext['sandbox'],
    overlay: async () => false,
    async fetch() {
      await inputs.addBytes(content);
      await damage();
    },
    async refetch() {
      if (brings) await inputs.addBytes(content);
      return brings;
    },
    log() {},
    onLayer() {},
  };
}

async function damageInput(): Promise<void> {
  await writeFile(inputs.path(sha256), content.toString('utf8').toUpperCase());
}

test('a layer whose input is damaged while it is made is made again from a good one', async () => {
  const lock = lockOf();
  const layers = await makeLayers(contextOf(lock, damageInput, true));
  await Promise.all(layers.map(({ stored }) => stored));
  await withTree(layers, { lock }, async (tree) => {
    expect(await tree.read('usr/bin/tool', 1000)).toEqual(content);
  });
});

test('an input that is damaged and cannot be fetched again fails the build, and leaves no layer', async () => {
  const lock = lockOf();
  const context = contextOf(lock, damageInput, false);
  await expect(makeLayers(context)).rejects.toMatchObject({ code: 'input-missing' });
  const [layer] = context.plan;
  expect(await context.cache.find(layer?.key ?? '')).toBeUndefined();
});
