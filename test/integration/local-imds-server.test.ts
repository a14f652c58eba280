// The metadata service over its real sockets, by a real client, also one that does not keep to the rules.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tokenIssuer } from '../../src/providers/local/imds/local-token.ts';
import type { MachineMetadata, PlatformHealth } from '../../src/providers/local/imds/machine-metadata.ts';
import { type MetadataServer, startMetadataServer } from '../../src/providers/local/imds/metadata-server.ts';

let folder: string;
let server: MetadataServer;
let metadata: MachineMetadata;
let health: PlatformHealth[];
let clockMs: number;

const options = () => ({
  imdsSocket: join(folder, 'imds'),
  wireSocket: join(folder, 'wire'),
  interfaces: [],
  tokens: tokenIssuer(generateKeyPairSync('ed25519').privateKey),
  metadata: () => metadata,
  monotonicMs: () => clockMs,
  onHealth: (reported: PlatformHealth) => health.push(reported),
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imds-'));
  health = [];
  clockMs = 0;
  metadata = {
    machineId: 'id-1',
    name: 'one',
    size: 'small',
    region: 'local',
    image: { gallery: 'g', image: 'i', version: '1.0.0', digest: 'sha256:0' },
    userData: 'Zmlyc3Q=',
    tags: {},
  };
  server = await startMetadataServer(options());
});

afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

interface Ask {
  readonly socket?: string;
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
}

function ask(
  path: string,
  { socket = 'imds', method = 'GET', headers = { Metadata: 'true' }, body }: Ask = {},
) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const sent = request({ socketPath: join(folder, socket), path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

function askRaw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(folder, 'imds'), () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.once('close', () => resolve(answer));
    socket.once('error', reject);
  });
}

const userData = '/metadata/instance/compute/userData?api-version=2021-02-01&format=text';

describe('the metadata service', () => {
  it('says what is true now: userData may change while the machine runs', async () => {
    expect(await ask(userData)).toEqual({ status: 200, body: 'Zmlyc3Q=' });
    metadata = { ...metadata, userData: 'c2Vjb25k' };
    expect(await ask(userData)).toEqual({ status: 200, body: 'c2Vjb25k' });
  });

  it('answers five requests a second, and the sixth with 429', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(userData)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(statuses.slice(5)).toEqual([429, 429, 429]);
    clockMs = 1000;
    expect((await ask(userData)).status).toBe(200);
  });

  it('refuses a header that is there twice, a head that is too long, and what is no HTTP', async () => {
    expect((await ask(userData, { headers: { Metadata: ['true', 'true'] } })).status).toBe(400);
    const long = await askRaw(`GET / HTTP/1.1\r\nHost: x\r\nMetadata: ${'t'.repeat(9000)}\r\n\r\n`);
    expect(long).toMatch(/^HTTP\/1\.1 431 /);
    expect(await askRaw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(await askRaw('GET /metadata/versions HTTP/1.1\r\nMetadata: true\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 /,
    );
    expect((await ask(userData)).status).toBe(200);
  });

  it('takes reports of health, and no body that is too big', async () => {
    const headers = { 'x-ms-version': '2012-11-30' };
    const body =
      '<Health><GoalStateIncarnation>1</GoalStateIncarnation><Container><ContainerId>id-1</ContainerId><RoleInstanceList><Role><Health><State>Ready</State></Health></Role></RoleInstanceList></Container></Health>';
    const wire = { socket: 'wire', method: 'POST', headers };
    expect((await ask('/machine?comp=health', { ...wire, body })).status).toBe(200);
    expect(health).toMatchObject([{ state: 'Ready' }]);
    const padded = `${' '.repeat(70_000)}${body}`;
    expect((await ask('/machine?comp=health', { ...wire, body: padded })).status).toBe(413);
    expect(health).toHaveLength(1);
  });

  it('takes the place of a server that was killed, and leaves no socket', async () => {
    const second = await startMetadataServer(options());
    expect((await ask(userData)).status).toBe(200);
    await second.close();
    await second.close();
    expect(existsSync(join(folder, 'imds')) || existsSync(join(folder, 'wire'))).toBe(false);
  });
});
