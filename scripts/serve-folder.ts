// Serves the files of one folder on a free port of 127.0.0.1, and says which on its first line: for the quickstart,
// whose machines reach it as 168.63.129.1.
//   node scripts/serve-folder.ts FOLDER
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const folder = process.argv[2];
if (folder === undefined) throw new Error('Which folder?');

const server = createServer(async (request, response) => {
  const name = basename(new URL(request.url ?? '/', 'http://here').pathname);
  try {
    await pipeline(createReadStream(join(folder, name)), response);
  } catch {
    if (!response.headersSent) response.writeHead(404);
    response.end();
  }
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
