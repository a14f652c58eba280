// The agent as it is on images, in QuickJS, on this machine and yet not on it: in namespaces of its own, with folders
// of the test over /etc, /run, /var/lib and /proc/sys, and with stand-ins for the programs that reach the kernel or
// systemd. Everything else (curl, sync, sha256sum, flock) is real.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createHttp2, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildAgent } from '../../scripts/build-agent.ts';
import type { NodeReport } from '../../src/domain/node/report.ts';
import { requireTool } from '../../src/host/tools/tools.ts';

export interface AgentRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface AgentSandbox {
  readonly folder: string;
  /** What the metadata service answers with; may be changed. */
  readonly platform: SandboxPlatform;
  run(verb: string, options?: { readonly killAfterMs?: number }): Promise<AgentRun>;
  /** A script with the agent on its path. */
  script(text: string): Promise<AgentRun>;
  /** Starts a verb and leaves it running. */
  start(verb: string): ChildProcess;
  /** Of the machine, as the test sees it from outside. */
  path(inside: string): string;
  read(inside: string): string | undefined;
  report(): NodeReport | undefined;
  /** Commands that the stand-ins were given. */
  commands(): readonly string[];
  clearCommands(): void;
  close(): Promise<void>;
}

export interface SandboxPlatform {
  userData: string;
  machineId: string;
  health: string[];
  files: Map<string, string>;
}

const standIn = `#!/bin/sh
echo "\${0##*/} $*" >>"$IMAGO_TEST_LOG"
case "\${0##*/} $1" in
'systemctl start'|'systemctl try-restart')
  for unit; do grep -qx "$unit" "$IMAGO_TEST_BROKEN" 2>/dev/null && { echo "Job for $unit failed." >&2; exit 1; }; done ;;
'ctr --namespace') [ "$4" != list ] || echo donors ;;
'systemctl is-active') shift; for unit; do echo active; done ;;
'systemctl show') shift 2; for unit; do printf 'Id=%s\\nActiveState=active\\nResult=success\\nLoadState=loaded\\n\\n' "$unit"; done ;;
esac
exit 0
`;

const bound = ['/etc', '/run', '/var/lib', '/proc/sys', '/home'] as const;

export async function agentSandbox(): Promise<AgentSandbox> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ia-'));
  const at = (inside: string) => path.join(folder, 'root', inside);
  for (const one of bound) mkdirSync(at(one), { recursive: true });
  const files: Record<string, string> = {
    '/etc/hosts': '127.0.0.1 localhost\n',
    '/etc/passwd': 'root:x:0:0::/root:/bin/sh\n',
    '/etc/group': 'root:x:0:\nshadow:x:42:\n',
    '/etc/shadow': 'root:*:1::::::\n',
    '/etc/gshadow': 'root:*::\n',
    '/etc/systemd/system/containerd.service': '[Service]\nExecStart=/usr/bin/containerd\n',
    '/proc/sys/kernel/random/boot_id': 'boot-1\n',
    '/proc/sys/kernel/random/uuid': '0f0e0d0c-0b0a-4908-8706-050403020100\n',
    '/proc/sys/kernel/hostname': 'localhost\n',
    '/proc/sys/vm/max_map_count': '65530\n',
  };
  for (const [inside, text] of Object.entries(files)) {
    mkdirSync(path.dirname(at(inside)), { recursive: true });
    writeFileSync(at(inside), text);
  }
  const programs = path.join(folder, 'bin');
  mkdirSync(programs);
  for (const name of ['systemctl', 'ip', 'modprobe', 'update-ca-certificates', 'ssh-keygen', 'ctr']) {
    writeFileSync(path.join(programs, name), standIn);
    chmodSync(path.join(programs, name), 0o755);
  }
  await buildAgent(path.join(folder, 'agent'));
  const qjs = await requireTool('qjs');
  const agent = path.join(folder, 'agent/usr/lib/imago/agent.js');
  writeFileSync(
    path.join(programs, 'imago-agent'),
    `#!/bin/sh\nexec ${qjs} --std --no-unhandled-rejection -m ${agent} "$@"\n`,
  );
  chmodSync(path.join(programs, 'imago-agent'), 0o755);

  const platform: SandboxPlatform = { userData: '', machineId: 'machine-1', health: [], files: new Map() };
  const metadata = metadataServer(platform);
  await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(metadata.address() as AddressInfo).port}`;
  mkdirSync(at('/run/containerd'));
  const runtime = runtimeServer();
  await new Promise<void>((resolve) => runtime.listen(at('/run/containerd/containerd.sock'), resolve));

  const mounts = bound.map((one) => `mount --bind '${at(one)}' ${one}`).join('\n');
  const log = path.join(folder, 'commands');
  const children = new Set<ChildProcess>();

  function begin(text: string): ChildProcess {
    const child = spawn(
      'unshare',
      ['--user', '--map-root-user', '--mount', '--uts', 'sh', '-ec', `${mounts}\numask 022\n${text}`],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: `${programs}:/usr/sbin:/usr/bin:/sbin:/bin`,
          IMAGO_METADATA_URL: address,
          IMAGO_WIRE_SERVER_URL: address,
          IMAGO_CONSOLE: at('/run/console'),
          IMAGO_TEST_LOG: log,
          IMAGO_TEST_BROKEN: path.join(folder, 'broken'),
        },
      },
    );
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  }

  async function finish(child: ChildProcess, killAfterMs: number | undefined): Promise<AgentRun> {
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    const timer =
      killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    const exitCode = await new Promise<number>((resolve) =>
      child.once('close', (code) => resolve(code ?? 137)),
    );
    clearTimeout(timer);
    return { exitCode, stdout: await stdout, stderr: await stderr };
  }

  return {
    folder,
    platform,
    path: at,
    run: (verb, { killAfterMs } = {}) => finish(begin(`exec imago-agent ${verb}`), killAfterMs),
    script: (text) => finish(begin(text), undefined),
    start: (verb) => begin(`exec imago-agent ${verb}`),
    read(inside) {
      try {
        return readFileSync(at(inside), 'utf8');
      } catch {
        return undefined;
      }
    },
    report() {
      try {
        return JSON.parse(readFileSync(at('/run/imago/status.json'), 'utf8')) as NodeReport;
      } catch {
        return undefined;
      }
    },
    commands() {
      try {
        return readFileSync(log, 'utf8').trim().split('\n');
      } catch {
        return [];
      }
    },
    clearCommands: () => rmSync(log, { force: true }),
    async close() {
      for (const child of children) child.kill('SIGKILL');
      metadata.closeAllConnections();
      await Promise.all([metadata, runtime].map((server) => new Promise((resolve) => server.close(resolve))));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function collect(stream: NodeJS.ReadableStream | null): Promise<string> {
  const chunks: string[] = [];
  if (stream !== null) for await (const chunk of stream) chunks.push(String(chunk));
  return chunks.join('');
}

function metadataServer(platform: SandboxPlatform): Server {
  return createServer((request, response) => {
    const url = request.url ?? '';
    const answer = (status: number, body: string) => {
      response.writeHead(status, { 'content-length': Buffer.byteLength(body) });
      response.end(body);
    };
    const file = platform.files.get(url);
    if (file !== undefined) return answer(200, file);
    if (url.includes('comp=goalstate')) {
      return answer(
        200,
        '<G><Incarnation>1</Incarnation><ContainerId>c</ContainerId><InstanceId>i</InstanceId></G>',
      );
    }
    if (url.includes('comp=health')) {
      collect(request).then((body) => {
        platform.health.push(body);
        answer(200, '');
      });
      return;
    }
    if (request.headers.metadata !== 'true') return answer(400, 'Metadata: true is missing');
    if (url.includes('/userData')) return answer(200, platform.userData);
    if (url.includes('/compute?')) {
      return answer(200, JSON.stringify({ vmId: platform.machineId, name: 'node-1' }));
    }
    if (url.includes('/identity/oauth2/token')) {
      const resource = new URL(url, 'http://localhost').searchParams.get('resource');
      return answer(200, JSON.stringify({ access_token: `token of ${platform.machineId} for ${resource}` }));
    }
    return answer(404, '');
  });
}

/** Answers as the health service of gRPC does. */
function runtimeServer(): Http2Server {
  const server = createHttp2();
  server.on('stream', (stream) => {
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    });
    stream.resume();
  });
  return server;
}
