// Takes from a root file system what a disk needs to boot: the kernel, and an initrd made of its modules.
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { runTool } from '../../host/process/run-tool.ts';
import { type Environment, requireTool } from '../../host/tools/tools.ts';
import type { MergedTree } from '../tar/merged-tree.ts';
import { type InitrdModule, makeInitrd, otherDrivers, virtioDrivers } from './initrd.ts';
import { type ModuleIndex, moduleIndex, moduleName } from './kernel-modules.ts';
import { xzSize } from './xz-size.ts';

export interface BootFiles {
  /** As in `uname -r`. */
  readonly kernelVersion: string;
  readonly kernel: Buffer;
  readonly initrd: Buffer;
  /** The content of /etc/os-release. */
  readonly osRelease: Buffer;
}

export interface BootFilesOptions {
  readonly epoch: number;
  /** A static busybox: `readToolFile('busybox')`, or the one that the lock names. */
  readonly busybox: Uint8Array;
  /** Needed only when the root has several kernels. */
  readonly kernelVersion?: string;
  readonly tools?: Environment | undefined;
  readonly signal?: AbortSignal;
}

const maxFile = 256 * 1024 * 1024;
const modulesFolder = 'usr/lib/modules';
/** Kernels that are not made for a cloud may lack these, and still boot elsewhere. */
const optional: ReadonlySet<string> = new Set(['pci_hyperv', 'hv_netvsc', 'virtio_net', 'nvme']);

/** Throws `boot-files-invalid` when the tree has no kernel, several, or one without its modules. */
export async function readBootFiles(tree: MergedTree, options: BootFilesOptions): Promise<BootFiles> {
  const kernelVersion = options.kernelVersion ?? onlyKernel(tree);
  const kernel =
    (await tree.read(`boot/vmlinuz-${kernelVersion}`, maxFile)) ??
    (await tree.read(`${modulesFolder}/${kernelVersion}/vmlinuz`, maxFile));
  if (kernel === undefined)
    throw new ImagoError('boot-files-invalid', `there is no kernel for ${kernelVersion}`);
  const osRelease = await tree.read('etc/os-release', 64 * 1024);
  if (osRelease === undefined) throw new ImagoError('boot-files-invalid', 'there is no /etc/os-release');

  const index = await readIndex(tree, kernelVersion);
  const order = (drivers: readonly string[]) =>
    index.loadOrder(drivers, optional).map((path) => `${modulesFolder}/${kernelVersion}/${path}`);
  const early = order(virtioDrivers);
  const modules = await readModules(tree, [...early, ...order(otherDrivers)], options);
  const initrd = makeInitrd({
    ...{ busybox: options.busybox, epoch: options.epoch },
    ...{ first: modules.slice(0, early.length), later: modules.slice(early.length) },
  });
  return { kernelVersion, kernel, initrd, osRelease };
}

function onlyKernel(tree: MergedTree): string {
  const versions = (tree.list(modulesFolder) ?? []).filter(
    (version) =>
      tree.find(`boot/vmlinuz-${version}`) !== undefined ||
      tree.find(`${modulesFolder}/${version}/vmlinuz`) !== undefined,
  );
  const [version] = versions;
  if (version !== undefined && versions.length === 1) return version;
  throw new ImagoError(
    'boot-files-invalid',
    versions.length === 0
      ? 'the root file system has no kernel with modules'
      : `the root file system has several kernels: ${versions.join(', ')}`,
    { hint: 'Put exactly one kernel package on the image, such as linux-image-cloud-amd64.' },
  );
}

async function readIndex(tree: MergedTree, kernelVersion: string): Promise<ModuleIndex> {
  const table = async (name: string) =>
    (await tree.read(`${modulesFolder}/${kernelVersion}/modules.${name}`, maxFile))?.toString('utf8');
  const dep = await table('dep');
  const builtin = await table('builtin');
  if (dep === undefined || builtin === undefined) {
    throw new ImagoError(
      'boot-files-invalid',
      `the modules of ${kernelVersion} have no tables: depmod has not run`,
    );
  }
  return moduleIndex({
    dep,
    builtin,
    softdep: (await table('softdep')) ?? '',
    alias: (await table('alias')) ?? '',
  });
}

interface StoredModule {
  readonly path: string;
  readonly bytes: Buffer;
}

async function readModules(
  tree: MergedTree,
  paths: readonly string[],
  options: BootFilesOptions,
): Promise<readonly InitrdModule[]> {
  const stored: StoredModule[] = [];
  for (const path of paths) {
    const bytes = await tree.read(path, maxFile);
    if (bytes === undefined) throw new ImagoError('boot-files-invalid', `the module ${path} is missing`);
    stored.push({ path, bytes });
  }
  const packed = stored.filter(({ path }) => path.endsWith('.xz'));
  const unpacked = await unpackXz(packed, options);
  return stored.map((module) => ({
    name: moduleName(module.path),
    content: unpacked.get(module.path) ?? unpackModule(module),
  }));
}

function unpackModule({ path, bytes }: StoredModule): Buffer {
  if (path.endsWith('.gz')) return gunzipSync(bytes, { maxOutputLength: maxFile });
  if (path.endsWith('.zst')) return zstdDecompressSync(bytes, { maxOutputLength: maxFile });
  return bytes;
}

/** Unpacks all files with one process: xz accepts concatenated files, and there are dozens. */
async function unpackXz(
  files: readonly StoredModule[],
  { tools, signal }: BootFilesOptions,
): Promise<ReadonlyMap<string, Buffer>> {
  const unpacked = new Map<string, Buffer>();
  if (files.length === 0) return unpacked;
  const sizes = files.map(({ path, bytes }) => {
    const size = xzSize(bytes);
    if (size === undefined || size > maxFile) throw notUnpacked(path);
    return { path, size };
  });
  const total = sizes.reduce((sum, { size }) => sum + size, 0);
  const xz = await requireTool('xz', tools);
  async function* content() {
    for (const { bytes } of files) yield bytes;
  }
  const run = { stdin: content(), signal, maxOutput: total };
  const { stdout } = await runTool(xz, ['--decompress', '--stdout'], run);
  if (stdout.length !== total) throw notUnpacked(files.map(({ path }) => path).join(', '));
  let at = 0;
  for (const { path, size } of sizes) {
    unpacked.set(path, stdout.subarray(at, at + size));
    at += size;
  }
  return unpacked;
}

function notUnpacked(path: string): ImagoError {
  return new ImagoError('boot-files-invalid', `the module ${path} is not one whole stream of xz`);
}
