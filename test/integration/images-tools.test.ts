// Tools come from Debian's packages into a cache: checked, started on this older release, fetched once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';

const script = join(import.meta.dirname, '../../scripts/get-tools.ts');
let cacheFolder: string;
beforeEach(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'imago-cache-'));
});
afterEach(() => rm(cacheFolder, { recursive: true, force: true }));

async function answering(body: string): Promise<{ server: Server; mirror: string }> {
  const server = createServer((_request, response) => response.end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, mirror: `http://127.0.0.1:${(server.address() as AddressInfo).port}/debian` };
}

describe('tools', () => {
  it('are fetched once, and then found without any network', async () => {
    const first = await fetchTools({ group: 'agent', cacheFolder });
    expect(first.fetched).toBe(true);
    const { stdout } = await runTool(join(first.folder, 'bin', 'qjs'), ['-e', 'console.log(6 * 7)']);
    expect(stdout.toString().trim()).toBe('42');
    const second = await fetchTools({
      group: 'agent',
      cacheFolder,
      mirror: 'http://127.0.0.1:1/nothing-is-here',
    });
    expect(second).toEqual({ ...first, fetched: false });
    expect(
      (await readdir(join(cacheFolder, 'tools', 'agent'))).filter((name) => name.startsWith('imago-work')),
    ).toEqual([]);
  });

  it('are refused when their mirror is not signed by Debian, and nothing is kept of them', async () => {
    const { server, mirror } = await answering('Origin: Debian\nSuite: trixie\nCodename: trixie\n');
    try {
      await expect(fetchTools({ group: 'agent', cacheFolder, mirror })).rejects.toThrow(/signed/i);
    } finally {
      server.close();
    }
    expect(await readdir(join(cacheFolder, 'tools', 'agent'))).toEqual([]);
  });

  it('can be fetched by an ordinary user', async () => {
    const user = canBeOrdinary ? ordinaryUser(cacheFolder) : undefined;
    await chmod(cacheFolder, 0o755);
    const [program, ...args] = user?.node(script, 'agent') ?? [process.execPath, script, 'agent'];
    const caches = user?.home ?? cacheFolder;
    const env = { PATH: process.env.PATH, XDG_CACHE_HOME: caches };
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed] = await once(child.stdout, 'data');
    expect(String(printed)).toContain(join(caches, 'imago', 'tools', 'agent', 'current'));
  });
});
