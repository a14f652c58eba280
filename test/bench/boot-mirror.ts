// The machine's Debian mirror, as machines see it through the computer that they run on: what was fetched once is kept
// in Imago's cache, so that first boots are measured with the nearest mirror that there can be.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { machineMirror } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders } from '../../src/host/tools/tools.ts';

export interface BootMirror {
  /** `http://127.0.0.1:PORT`; what is below `/debian/` is the mirror. */
  readonly address: string;
  close(): Promise<void>;
}

/** Files whose name says their content; all others change with the archive and are asked for anew in each run. */
const kept = /\.deb$|\/by-hash\//;

export async function startBootMirror(): Promise<BootMirror> {
  const mirror = (process.env.IMAGO_DEBIAN_MIRROR ?? (await machineMirror())).replace(/\/$/, '');
  const folder = join(cacheFolders()[0] ?? '', 'bench', 'mirror');
  await mkdir(folder, { recursive: true });
  const fresh = new Set<string>();

  async function find(path: string): Promise<string | undefined> {
    const file = join(folder, createHash('sha256').update(path).digest('hex'));
    if (existsSync(file) && (kept.test(path) || fresh.has(path))) return file;
    const answer = await fetch(mirror + path);
    if (!answer.ok) return undefined;
    const partial = `${file}.${process.pid}`;
    await writeFile(partial, Buffer.from(await answer.arrayBuffer()));
    await rename(partial, file);
    fresh.add(path);
    return file;
  }

  async function answer(path: string, response: ServerResponse): Promise<void> {
    const file = path.startsWith('/debian/') ? await find(path.slice('/debian'.length)) : undefined;
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-length': (await stat(file)).size });
    createReadStream(file).pipe(response);
  }

  const server = createServer((request, response) => {
    answer(request.url ?? '', response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
