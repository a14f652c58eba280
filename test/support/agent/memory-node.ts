// For tests: the whole agent on a machine in memory, with a platform around it that can be made to fail.

import { createAgent } from '../../../src/agent/agent.ts';
import { createReporter } from '../../../src/agent/report/reporter.ts';
import { readSettings } from '../../../src/agent/settings.ts';
import { sha256 } from '../../../src/agent/system/sha256.ts';
import type { RunResult } from '../../../src/agent/system/system.ts';
import type { NodeReport } from '../../../src/domain/node/report.ts';
import type { NodeConfig } from '../../../src/domain/node-config/schema.ts';
import { type MemorySystem, memorySystem } from './memory-system.ts';

/** An image with a container runtime and a kubelet. */
export const base = {
  '/etc/hosts': '127.0.0.1 localhost\n',
  '/etc/passwd': 'root:x:0:0::/root:/bin/bash\n',
  '/etc/group': 'root:x:0:\nshadow:x:42:\n',
  '/etc/shadow': 'root:*:1::::::\n',
  '/etc/gshadow': 'root:*::\n',
  '/etc/containerd/config.toml': 'version = 2\n',
  '/usr/lib/systemd/system/containerd.service': '[Service]\nExecStart=/usr/bin/containerd\n',
  '/usr/lib/systemd/system/kubelet.service': '[Service]\nExecStart=/usr/bin/kubelet\n',
  '/proc/cmdline': 'root=/dev/vda2 quiet\n',
  '/proc/sys/kernel/random/boot_id': 'boot-1\n',
  '/proc/sys/kernel/random/uuid': '0f0e0d0c-0b0a-4908-8706-050403020100\n',
  '/proc/sys/kernel/hostname': 'localhost\n',
  '/proc/sys/vm/max_map_count': '65530\n',
  '/proc/net/route':
    'Iface\tDestination\tGateway\tFlags\neth0\t00000000\t0202000A\t0003\t0\t0\t0\t00000000\n',
} as const;

/** What the machine finds around it. */
export interface MemoryPlatform {
  userData: string;
  machineId: string;
  /** Units that do not come up. */
  broken: Set<string>;
  /** Units for which `systemctl start` does not end. */
  hanging: Set<string>;
  /** Units that are always about to run. */
  activating: Set<string>;
  health: string[];
  /** Statuses that the metadata service answers with before it answers well. */
  trouble: string[];
  downloads: Map<string, string>;
  /** What is served at an address to those who ask with a token. */
  served: Map<string, () => string>;
  /** Commands that begin with the key end so. */
  answers: Map<string, Partial<RunResult>>;
  /** How long commands take that begin with the key. */
  slow: Map<string, number>;
  /** What the container runtime has. */
  containers: Set<string>;
  /** Whether anybody is there who wants to know how the boot ended. */
  hasWireServer: boolean;
}

export const config: NodeConfig = {
  schemaVersion: 1,
  node: { name: 'web-1', pool: 'web', labels: { team: 'a' } },
  system: { sysctl: { 'vm.max_map_count': 262_144 } },
  network: { hosts: { '10.0.0.4': ['api.example.com'] } },
  runtime: { mirrors: { 'registry.example.com': ['https://mirror.example.com'] } },
  users: [{ name: 'ann', sudo: true }],
  files: [{ path: '/etc/motd', content: 'hello\n', restarts: ['containerd.service'] }],
  kubelet: { maxPods: 50 },
};

export function encode(document: unknown): string {
  return Buffer.from(typeof document === 'string' ? document : JSON.stringify(document)).toString('base64');
}

export function machine(platform: MemoryPlatform): MemorySystem {
  const system = memorySystem(base);
  connect(system, platform);
  return system;
}

export function connect(system: MemorySystem, platform: MemoryPlatform): void {
  system.program((command, { input = '' }) => {
    const [name, ...words] = command;
    const line = command.join(' ');
    for (const [start, ms] of platform.slow) if (line.startsWith(start)) system.advance(ms);
    for (const [start, result] of platform.answers) if (line.startsWith(start)) return result;
    if (name === 'ctr') return ctr(platform, words);
    if (name === 'sha256sum' && words.length === 0) {
      return { stdout: `${sha256(input)}  -\n` };
    }
    if (name === 'sha256sum') {
      const text = system.readText(words.at(-1) ?? '') ?? '';
      return { stdout: `${sha256(text)}  x\n` };
    }
    if (name === 'fallocate')
      return allocate(system, words.at(-1) ?? '', Number.parseInt(words[1] ?? '', 10));
    // The kubelet is asked so; who asks the metadata service so goes on with curl.
    if (name === 'bash')
      return words.includes('10248')
        ? { stdout: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok' }
        : { exitCode: 1 };
    if (name === 'curl') return curl(system, platform, words, input);
    if (name === 'systemctl' && (words[0] === 'start' || words[0] === 'try-restart')) {
      if (words.some((unit) => platform.hanging.has(unit))) return { exitCode: 137, timedOut: true };
      const bad = words.find((unit) => platform.broken.has(unit));
      return bad === undefined ? {} : { exitCode: 1, stderr: `Job for ${bad} failed.` };
    }
    if (name === 'systemctl' && words[0] === 'show') {
      const states = words
        .slice(2)
        .map((unit) => [unit, platform.activating.has(unit) ? 'activating' : 'active'])
        .map(([unit, state]) => `Id=${unit}\nActiveState=${state}\nResult=success\nLoadState=loaded`);
      return { stdout: `${states.join('\n\n')}\n` };
    }
    return {};
  });
}

function ctr({ containers }: MemoryPlatform, words: readonly string[]): Partial<RunResult> {
  const [, , , verb, ...ids] = words;
  if (verb === 'list') return { stdout: [...containers].map((id) => `${id}\n`).join('') };
  for (const id of ids) containers.delete(id);
  return {};
}

/** The disk has room for 3 MiB. */
function allocate(system: MemorySystem, path: string, mebibytes: number) {
  if (mebibytes > 3) return { exitCode: 1, stderr: 'fallocate: fallocate failed: No space left on device' };
  system.remove(path);
  system.writeFile(path, 'x'.repeat(mebibytes * 1_048_576), { mode: 0o600 });
  return {};
}

function curl(system: MemorySystem, platform: MemoryPlatform, words: readonly string[], input: string) {
  if (words.includes('--unix-socket')) return { stdout: 'HTTP/2 200\ngrpc-status: 0\n' };
  const out = words.indexOf('--output');
  if (out >= 0) {
    const body = platform.downloads.get(words.at(-1) ?? '');
    if (body === undefined)
      return { exitCode: 22, stderr: 'curl: (22) The requested URL returned error: 404' };
    system.writeFile(words[out + 1] ?? '', body, { mode: 0o644 });
    return {};
  }
  const url = /url = "(.*)"/.exec(input)?.[1] ?? '';
  const answer = (status: number, body: string) => ({
    stdout: `HTTP/1.1 ${status} x\r\nA: b\r\n\r\n${body}`,
  });
  if (url.includes('/metadata/')) {
    const trouble = platform.trouble.shift();
    if (trouble === 'silent') return { exitCode: 28, stderr: 'curl: (28) Connection timed out' };
    if (trouble !== undefined) return answer(Number(trouble), '');
  }
  const served = platform.served.get(url);
  if (served !== undefined) return answer(200, served());
  if (url.includes('/oauth2/token')) return answer(200, JSON.stringify({ access_token: 'a token' }));
  if (url.includes('userData')) return answer(200, platform.userData);
  if (url.includes('/compute?')) {
    const { machineId: vmId, userData } = platform;
    return answer(
      200,
      JSON.stringify({ vmId, name: 'set_0', osProfile: { computerName: 'from-metadata' }, userData }),
    );
  }
  if (url.includes('comp=') && !platform.hasWireServer) {
    return { exitCode: 28, stderr: 'curl: (28) Connection timed out' };
  }
  if (url.includes('goalstate')) {
    return answer(
      200,
      '<G><Incarnation>1</Incarnation><ContainerId>c</ContainerId><InstanceId>i</InstanceId></G>',
    );
  }
  if (url.includes('comp=health')) {
    platform.health.push(input);
    return answer(200, '');
  }
  return answer(200, 'ok');
}

export function platformWith(document: unknown): MemoryPlatform {
  return {
    userData: encode(document),
    machineId: 'machine-1',
    broken: new Set(),
    hanging: new Set(),
    activating: new Set(),
    health: [],
    trouble: [],
    downloads: new Map(),
    served: new Map(),
    answers: new Map(),
    slow: new Map(),
    containers: new Set(),
    hasWireServer: true,
  };
}

export interface MemoryNode {
  readonly report: () => NodeReport;
  readonly look: (again?: boolean) => Promise<void>;
  readonly allow: (cost: 'restart' | 'drain') => void;
  readonly deny: () => void;
  readonly lines: string[];
  /** What the machine had run when the node was first known to be ready. */
  readonly beforeReady: readonly string[];
}

export async function start(system: MemorySystem): Promise<MemoryNode> {
  const lines: string[] = [];
  let beforeReady: readonly string[] | undefined;
  const reporter = createReporter(system, '1.0', (line) => {
    lines.push(line);
    if ((JSON.parse(line) as NodeReport).phase === 'ready') beforeReady ??= [...system.commands];
  });
  const settings = { ...readSettings(system, () => undefined), metadataDeadlineMs: 20_000 };
  const agent = createAgent(system, settings, reporter);
  await agent.start();
  await agent.look();
  return {
    report: reporter.current,
    look: (again = false) => agent.look({ again }),
    allow: (cost) => agent.allow(cost, reporter.current().waiting?.digest ?? ''),
    deny: () => agent.deny(reporter.current().waiting?.digest ?? ''),
    lines,
    beforeReady: beforeReady ?? [],
  };
}

/** What belongs to the node and not to the agent. */
export function nodeFiles(system: MemorySystem): Readonly<Record<string, string>> {
  const hidden = /^\/(?:run|var\/lib\/imago\/(?:failed|attempts|platform-report|identity|config|managed))/;
  return Object.fromEntries(
    Object.entries(system.snapshot())
      .filter(([path]) => !hidden.test(path))
      .map(([path, text]) => [path, path.startsWith('/proc/') ? text.trim() : text]),
  );
}
