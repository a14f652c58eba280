// A process of its own that locks and builds a recipe, for tests that kill it, run it as another user or measure
// it: node build-child.ts JOB, a job in JSON. Tells the steps on standard error and prints one line of JSON.

import { existsSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { kubernetesFolder } from '../../scripts/get-kubernetes.ts';
import { type BuilderOptions, createBuilder } from '../../src/build/builder.ts';
import { lockDigest, readLockFile } from '../../src/build/lock/lock-file.ts';
import { readRecipe } from '../../src/build/recipe/read-recipe.ts';
import { defaultLimits, type SandboxLimits } from '../../src/build/sandbox/limits.ts';
import { findNamespace } from '../../src/build/sandbox/namespace.ts';
import { createSandbox, type Sandbox, type SandboxRun } from '../../src/build/sandbox/sandbox.ts';
import { inputsMount } from '../../src/build/sandbox/stages.ts';
import { agentBundle } from '../../src/daemon/providers/images.ts';
import { ensureImagoError } from '../../src/domain/error/imago-error.ts';
import type { Lock } from '../../src/domain/lock/lock.ts';
import type { Recipe } from '../../src/domain/recipe/recipe.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';

export interface BuildJob {
  /** The file of a recipe. */
  readonly recipe: string;
  /** Which version of its matrix; the first when absent. */
  readonly kubernetes?: string;
  readonly cache: string;
  readonly store: string;
  /** The builder's clock is so much ahead. */
  readonly aheadMs?: number;
  /** libfaketime: the clock of all that runs in the new root is a day ahead too. */
  readonly clockLibrary?: string;
  readonly options?: Pick<BuilderOptions, 'mirror' | 'securityMirror' | 'keyring'>;
  /** In place of the sandbox's own limits. */
  readonly limits?: Partial<SandboxLimits>;
  /** With this tree's agent on the disk, as the product builds. */
  readonly withAgent?: boolean;
}

export interface BuildOutcome {
  readonly lockDigest: string;
  readonly digest: string;
  readonly diskDigest: string;
  readonly sizeBytes: number;
  /** In their order, each with whether it was reused. */
  readonly steps: readonly { readonly name: string; readonly reused: boolean }[];
  readonly lockMs: number;
  readonly buildMs: number;
}

/** One version of the recipe, as the product hands it to its builder. */
export async function loadVariant({ recipe: file, kubernetes }: Pick<BuildJob, 'recipe' | 'kubernetes'>) {
  const files = { read: (path: string) => readFile(path, 'utf8').catch(() => undefined) };
  const { variants } = await readRecipe({ file, files });
  const found = variants.find((variant) => kubernetes === undefined || variant.kubernetes === kubernetes);
  if (found === undefined) throw new Error(`${file} has no version for ${kubernetes}`);
  const examples = join(import.meta.dirname, '../../examples');
  const roots = [dirname(dirname(file)), examples, kubernetesFolder()];
  return { ...found, folder: dirname(file), roots } satisfies Recipe;
}

/** The lock that is committed next to the recipe, as the product sends it along. */
async function committedLock({ recipe, kubernetes }: BuildJob): Promise<Lock | undefined> {
  const text = await readFile(join(dirname(recipe), 'imago.lock'), 'utf8').catch(() => undefined);
  const locks = text === undefined ? [] : readLockFile(text, 'imago.lock').locks;
  return locks.find((lock) => lock.recipe.kubernetes === kubernetes);
}

/** In the scripts that have a root. */
const tellClock = `[ -z "\${root:-}" ] || in_root date "+CLOCK %s"`;

/** Programs see the library among the inputs once they are inside of the root; those outside say so and go on. */
function aheadSandbox(library: string): () => Sandbox {
  const preload = join(inputsMount, 'clock.so');
  return () => {
    const real = createSandbox();
    const env = { LD_PRELOAD: preload, FAKETIME: '+1d', NO_FAKE_STAT: '1' };
    const run = async (job: SandboxRun) => {
      const inputs = join(job.folder ?? '', 'inputs');
      if (existsSync(inputs)) await copyFile(library, join(inputs, 'clock.so'));
      await real.run({ ...job, script: `${job.script}\n${tellClock}`, env: { ...job.env, ...env } });
    };
    return { ...real, run };
  };
}

export async function runBuild(job: BuildJob, tell: (line: string) => void): Promise<BuildOutcome> {
  const store = await openDiskStore(job.store);
  try {
    const { limits } = job;
    const limited = limits && (() => createSandbox(findNamespace(), { ...defaultLimits, ...limits }));
    const sandbox = job.clockLibrary ? aheadSandbox(job.clockLibrary) : limited;
    const agent = job.withAgent === true ? await agentBundle(process.env) : undefined;
    const builder = createBuilder({
      ...{ cacheFolder: job.cache, store, agent, ...job.options, ...(sandbox && { sandbox }) },
      now: () => Date.now() + (job.aheadMs ?? 0),
    });
    const recipe = await loadVariant(job);
    const steps: { name: string; reused: boolean }[] = [];
    const progress = {
      progress: (_: number, __: number, sentence: string) => tell(sentence),
      log(line: string) {
        tell(line);
        const match = /^(.+): (reused|done in .*)$/.exec(line);
        if (match !== null) steps.push({ name: match[1] ?? '', reused: match[2] === 'reused' });
      },
    };
    const options = { signal: new AbortController().signal, epoch: 0 };
    const begun = performance.now();
    const previous = await committedLock(job);
    const call = { ...options, previous };
    const lock = await builder.lock(recipe, progress, call);
    const digest = lockDigest(lock);
    const locked = performance.now();
    tell('locked');
    const request = { lock, lockDigest: digest };
    const sealed = await builder.build(request, progress, options);
    const ended = performance.now();
    return { lockDigest: digest, ...sealed, steps, lockMs: locked - begun, buildMs: ended - locked };
  } finally {
    await store.close();
  }
}

if (process.argv[1] === import.meta.filename) {
  try {
    const job = JSON.parse(process.argv[2] ?? '{}') as BuildJob;
    console.log(JSON.stringify(await runBuild(job, (line) => console.error(line))));
  } catch (error) {
    console.log(JSON.stringify({ error: ensureImagoError(error).toRecord() }));
    process.exitCode = 1;
  }
}
