// An image as the product builds it from a recipe, ready for machines: its layers of packages come from the cache that
// all tests of builds share.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildAgent } from '../../scripts/build-agent.ts';
import { createBuilder } from '../../src/build/builder.ts';
import { readAgentBundle } from '../../src/build/layers/agent-layer.ts';
import type { AgentBundle } from '../../src/build/lock/context.ts';
import { lockDigest } from '../../src/build/lock/lock-file.ts';
import { readBootParts } from '../../src/disk/boot/boot-parts.ts';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import type { Lock } from '../../src/domain/lock/lock.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { parseDigest } from '../../src/oci/layout/digest.ts';
import { loadVariant } from './build-child.ts';
import type { MachineImage } from './cloud-init-machine.ts';
import { sharedBuildCache } from './test-recipe.ts';

export interface BuiltImage extends MachineImage {
  readonly lock: Lock;
}

/** The agent as it goes on images. */
export async function agentBundle(folder: string): Promise<AgentBundle> {
  await buildAgent(join(folder, 'agent'));
  const agent = await readAgentBundle(join(folder, 'agent'), '0.0.0');
  if (agent === undefined) throw new Error('the agent was not built');
  return agent;
}

/** Builds the recipe in the folder; without a bundle the image has no agent. */
export async function buildImage(
  folder: string,
  recipe: string,
  agent: AgentBundle | undefined,
): Promise<BuiltImage> {
  await fetchTools({ group: 'disk' });
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'imago.yaml');
  await writeFile(file, recipe);
  const store = await openDiskStore(join(folder, 'store'));
  const disk = join(folder, 'disk.raw');
  let lock: Lock;
  try {
    const builder = createBuilder({ cacheFolder: sharedBuildCache(), store, agent });
    const progress = { progress: () => undefined, log: () => undefined };
    const options = { signal: new AbortController().signal, epoch: 0 };
    const variant = await loadVariant({ recipe: file });
    lock = await builder.lock(variant, progress, options);
    const request = { lock, lockDigest: lockDigest(lock) };
    const { digest } = await builder.build(request, progress, options);
    await extractDisk(store, parseDigest(digest), disk, { flush: false });
  } finally {
    await store.close();
  }
  const source = await openFileSource(disk);
  const parts = await readBootParts(source).finally(() => source.close());
  if (parts === undefined) throw new Error('the disk has no parts to start from');
  const [kernel, initrd] = [join(folder, 'vmlinuz'), join(folder, 'initrd')];
  await writeFile(kernel, parts.kernel);
  await writeFile(initrd, parts.initrd);
  return { disk, boot: { kind: 'direct', kernel, initrd, cmdline: parts.cmdline }, lock };
}
