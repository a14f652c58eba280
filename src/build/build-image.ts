// From a lock to a raw disk: fetches what the missing layers need, makes them, and assembles the disk.
import { join } from 'node:path';
import { assembleDisk, rootContent } from '../disk/assemble/assemble-disk.ts';
import { readBootFiles } from '../disk/boot/boot-files.ts';
import { tarFile } from '../disk/tar/writer.ts';
import { ensureImagoError } from '../domain/error/imago-error.ts';
import { inputsOf, type Lock } from '../domain/lock/lock.ts';
import { isRestricted } from '../domain/recipe/recipe.ts';
import { machineNames } from '../domain/recipe/variables.ts';
import { readToolFile } from '../host/tools/tools.ts';
import type { BuildContext } from './builder-context.ts';
import { fittingSize, requireBudget, requireRoom, tightRoom } from './disk-size.ts';
import { type FetchContext, fetchInputs } from './fetch-inputs.ts';
import { localFiles } from './inputs/local-files.ts';
import { failedShell, withShell } from './layers/failed-shell.ts';
import { lockedTools } from './layers/locked-tools.ts';
import { makeLayers } from './layers/make-layers.ts';
import { withTree, writeItems } from './layers/own-layers.ts';
import { planLayers } from './layers/plan.ts';
import { releaseText } from './layers/system-files.ts';
import { defaultSuite, kernelArguments } from './lock/rules.ts';
import { archiveWish, isVerified, missingIndex, toolsWish, verifyPackages } from './lock/signed-packages.ts';
import { layerInputs, neededInputs } from './needed-inputs.ts';
import { sweepWorkSpaces, withWorkSpace } from './sandbox/work-space.ts';
import { type BuildReport, noReport } from './step-report.ts';

export interface BuildImageOptions {
  readonly lock: Lock;
  readonly lockDigest: string;
  readonly signal?: AbortSignal | undefined;
  readonly report?: BuildReport;
  /** Leaves the folder of a failed build for a person to look at. */
  readonly keepFailed?: boolean;
}

export interface BuiltImage {
  readonly path: string;
  readonly sizeBytes: number;
  readonly layers: readonly { readonly name: string; readonly reused: boolean; readonly sizeBytes: number }[];
}

/**
 * Builds the disk and hands it to `use`; it is gone afterwards. What is finished stays in the cache, so a second
 * call after a failure resumes where this one stopped.
 */
export async function buildImage<T>(
  context: BuildContext,
  options: BuildImageOptions,
  use: (image: BuiltImage) => Promise<T>,
): Promise<T> {
  const { lock, signal } = options;
  const report = options.report ?? noReport;
  requireRoom(lock);
  const fetching = fetchContext(context, options, report);
  await requireSigned(context, lock, fetching);
  const plan = planLayers(lock);
  const startedAt = Math.floor(context.now() / 1000);
  await sweepWorkSpaces(join(context.cacheFolder, 'temporary'), context.sandbox());
  return withWorkSpace(join(context.cacheFolder, 'work'), context.sandbox(), async (space) => {
    try {
      report.begin('inputs');
      const warning = tightRoom(lock);
      if (warning !== undefined) report.log('disk', warning);
      await fetchInputs(await neededInputs(context, lock, plan), fetching);
      const tools = await lockedTools(context.cacheFolder, lock, context.inputs, signal);
      report.end('inputs');
      const layers = await makeLayers({
        ...{ lock, plan, cache: context.layers, inputs: context.inputs, sandbox: context.sandbox() },
        ...{ trees: context.trees(), overlay: context.overlay },
        ...{ folder: space.folder, startedAt, signal },
        fetch: async (layer) => void (await fetchInputs(layerInputs(layer, lock), fetching)),
        async refetch(layer) {
          context.inputs.distrust();
          return (await fetchInputs(layerInputs(layer, lock), fetching)) > 0;
        },
        log: (layer, line) => report.log(layer, line),
        onLayer: (layer, state) => {
          if (state === 'begun') report.begin(layer.name);
          else report.end(layer.name, state === 'reused');
        },
      });
      try {
        const path = await assemble(options, space.folder, layers, tools, report);
        const records = await Promise.all(layers.map(({ stored }) => stored));
        const made = layers.map(({ name, reused }, index) => ({
          ...{ name, reused, sizeBytes: records[index]?.sizeBytes ?? 0 },
        }));
        return await use({ path: path.path, sizeBytes: path.sizeBytes, layers: made });
      } finally {
        await Promise.allSettled(layers.map(({ stored }) => stored));
      }
    } catch (error) {
      if (options.keepFailed !== true || ensureImagoError(error).retryable) throw error;
      const shell = await failedShell(context.sandbox(), space.folder, await context.overlay());
      if (shell === undefined) throw error;
      space.keep();
      throw withShell(error, shell);
    }
  });
}

/** Each package is in an index that a key of its archive signed, or nothing is done. */
async function requireSigned(context: BuildContext, lock: Lock, fetching: FetchContext): Promise<void> {
  const checking = { ...context, signal: fetching.signal };
  if (await isVerified(lock, checking)) return;
  for (const input of inputsOf(lock, 'index')) {
    await fetchInputs([input], fetching).catch((cause: unknown) => {
      const isGone = /^(?:input-m|download-failed)/.test(ensureImagoError(cause).code);
      throw isGone ? missingIndex(input, cause) : cause;
    });
  }
  await verifyPackages(lock, checking);
}

/** Where the inputs of a build come from. */
export function fetchContext(
  context: BuildContext,
  options: Pick<BuildImageOptions, 'lock' | 'signal'>,
  report: BuildReport = noReport,
): FetchContext {
  const { recipe } = options.lock;
  const { store, agent } = context;
  return {
    ...context,
    kept: store,
    agent: agent === 'missing' ? undefined : agent,
    files: localFiles({}),
    signal: options.signal,
    machine: machineNames[recipe.architecture],
    mirrors: async (archive) => {
      const wish = archive === 'apt' ? archiveWish(recipe) : toolsWish(recipe);
      const { mirror, securityMirror } = await context.findArchive(wish);
      return { main: mirror, security: securityMirror };
    },
    onProgress: (bytes, total) => report.bytes('inputs', bytes, total),
  };
}

async function assemble(
  { lock, lockDigest, signal }: BuildImageOptions,
  folder: string,
  layers: readonly { readonly name: string; readonly path: string }[],
  tools: Awaited<ReturnType<typeof lockedTools>>,
  report: BuildReport,
): Promise<{ readonly path: string; readonly sizeBytes: number }> {
  report.begin('disk');
  const { recipe, epoch } = lock;
  const release = join(folder, 'release.tar');
  const text = releaseText({
    ...{ image: recipe.name, lockDigest, rules: lock.rules, architecture: recipe.architecture },
    ...{ suite: recipe.base?.suite ?? defaultSuite, kubernetes: recipe.kubernetes },
    restricted: isRestricted(recipe),
  });
  await writeItems([tarFile('etc/imago-release', text, { mtime: epoch })], release);
  const built = await withTree(
    [...layers, { name: 'release', path: release }],
    { lock, signal },
    async (tree) => {
      const root = rootContent(tree);
      requireBudget(lock, root.usage);
      const size = recipe.disk?.sizeBytes ?? fittingSize(root.usage);
      const busybox = await readToolFile('busybox', tools);
      const boot = readBootFiles(tree, { epoch, busybox, tools, ...(signal && { signal }) });
      boot.catch(() => undefined);
      const cmdline = [...kernelArguments, ...(recipe.settings.kernelArguments ?? [])].join(' ');
      try {
        return await assembleDisk({
          ...{ root, boot, cmdline, epoch, seed: recipe.name, size, tools, signal, durable: false },
          ...{ path: join(folder, 'disk.raw'), workFolder: join(folder, 'assembly') },
          onProgress({ step, bytes, total }) {
            if (step === 'root') report.bytes('disk', bytes, total);
          },
        });
      } finally {
        // It reads from the tree, which is closed next.
        await boot.catch(() => undefined);
      }
    },
  );
  report.end('disk');
  return { path: built.path, sizeBytes: built.size };
}
