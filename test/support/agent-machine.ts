// A machine from an image with the agent, as the product builds it: for tests of the agent on the real thing.
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildAgent } from '../../scripts/build-agent.ts';
import { createBuilder } from '../../src/build/builder.ts';
import { readAgentBundle } from '../../src/build/layers/agent-layer.ts';
import { lockDigest } from '../../src/build/lock/lock-file.ts';
import { readBootParts } from '../../src/disk/boot/boot-parts.ts';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { type NodeReport, readNodeReport } from '../../src/domain/node/report.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { parseDigest } from '../../src/oci/layout/digest.ts';
import type { CommandResult, HostMachine, MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import { loadVariant } from './build-child.ts';
import { patience } from './speed.ts';
import { sharedBuildCache } from './test-recipe.ts';

export interface AgentImage {
  /** A raw file that is only read. */
  readonly disk: string;
  readonly boot: HostMachine['boot'];
}

const recipe = `name: agent-tested
numbering: semver
disk:
  size: 1536MiB
packages:
  - containerd
  - runc
  - openssh-server
settings:
  sysctl:
    net.ipv4.ip_forward: 1
`;

/** Of the first version of the given recipe's file, or of a small one with a container runtime. */
export async function buildAgentImage(folder: string, given?: string): Promise<AgentImage> {
  await fetchTools({ group: 'disk' });
  await buildAgent(join(folder, 'agent'));
  const file = given ?? join(folder, 'imago.yaml');
  if (given === undefined) await writeFile(file, recipe);
  const agent = await readAgentBundle(join(folder, 'agent'), '0.0.0');
  const store = await openDiskStore(join(folder, 'store'));
  const disk = join(folder, 'disk.raw');
  try {
    const builder = createBuilder({ cacheFolder: sharedBuildCache(), store, agent });
    const progress = { progress: () => undefined, log: () => undefined };
    const options = { signal: new AbortController().signal, epoch: 0 };
    const variant = await loadVariant({ recipe: file });
    const lock = await builder.lock(variant, progress, options);
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
  return { disk, boot: { kind: 'direct', kernel, initrd, cmdline: parts.cmdline } };
}

export interface AgentMachine {
  readonly id: string;
  /** What the agent reported last, once it fits; throws with the console's end when it does not come to that. */
  reported(fits: (report: NodeReport) => boolean): Promise<NodeReport>;
  setConfig(document: unknown): Promise<void>;
  run(script: string): Promise<CommandResult>;
}

const patienceMs = patience(480_000);

/** Starts a machine, on the disk of another one when that is given. */
export async function startAgentMachine(
  host: MachineHost,
  image: AgentImage,
  options: {
    readonly folder: string;
    readonly name: string;
    readonly document: unknown;
    readonly disk?: string;
    readonly memoryMb?: number;
    readonly cpus?: number;
  },
): Promise<AgentMachine> {
  const folder = join(options.folder, options.name);
  await mkdir(folder, { recursive: true });
  const disk = options.disk ?? join(folder, 'disk.qcow2');
  if (options.disk === undefined) {
    await runTool('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', image.disk, '-F', 'raw', disk]);
  }
  const metadata = {
    machineId: randomUUID(),
    name: options.name,
    size: 'small',
    region: 'local',
    image: { gallery: 'local', image: 'agent-tested', version: '1.0.0', digest: `sha256:${'0'.repeat(64)}` },
    userData: encode(options.document),
    tags: {},
  };
  const network = { forwards: [], endpoints: 'config' } as const;
  const size = { cpus: options.cpus ?? 1, memoryMb: options.memoryMb ?? 768 };
  await host.start({ id: options.name, folder, disk, boot: image.boot, ...size, network, metadata });
  return {
    id: options.name,
    async reported(fits) {
      const end = performance.now() + patienceMs;
      for (;;) {
        const found = await host.report(options.name);
        const report = found && readNodeReport(JSON.stringify(found.document));
        if (report !== undefined && fits(report)) return report;
        if (performance.now() > end) {
          const lines = await host.console(options.name, 60);
          throw new Error(`${JSON.stringify(report)}\n${lines.join('\n')}`);
        }
        await sleep(200);
      }
    },
    setConfig: (document) => host.setMetadata(options.name, { ...metadata, userData: encode(document) }),
    run: (script) => host.runCommand(options.name, script, { timeoutMs: patience(120_000) }),
  };
}

function encode(document: unknown): string {
  return Buffer.from(JSON.stringify(document)).toString('base64');
}
