// The API on real sockets, over the real store, real operations and the simulated provider. Every answer that
// its client gets is compared with the contract.
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Client, createClient } from '../../src/api/client/client.ts';
import { contractOf } from '../../src/api/contract/contract.ts';
import type { EndpointName, ResponseOf } from '../../src/api/contract/types.ts';
import type { Problem } from '../../src/api/schemas/common.ts';
import { plan as planSchema, problem as problemSchema } from '../../src/api/schemas/common.ts';
import { sentFiles } from '../../src/build/inputs/sent-files.ts';
import { createArchive } from '../../src/daemon/backup/archive.ts';
import { openClusters } from '../../src/daemon/clusters.ts';
import { createApp } from '../../src/daemon/http/app.ts';
import type { DaemonContext } from '../../src/daemon/http/endpoint/context.ts';
import type { Limits } from '../../src/daemon/http/guard/limits.ts';
import { openListener, type TcpOptions } from '../../src/daemon/http/listener.ts';
import { createRequestListener } from '../../src/daemon/http/request-listener.ts';
import { builderProvider } from '../../src/daemon/providers/builder-provider.ts';
import { openImages } from '../../src/daemon/providers/images.ts';
import { createSchedules } from '../../src/daemon/schedules.ts';
import { openWebhookKey } from '../../src/daemon/webhook/key.ts';
import type { Store } from '../../src/database/open-database.ts';
import type { Role } from '../../src/domain/access/roles.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { systemClock } from '../../src/host/system-clock.ts';
import { openWorldCluster } from '../../src/kube/sim/world-cluster.ts';
import { openSettings } from '../../src/launcher/settings-file.ts';
import type { OperationDeps } from '../../src/operations/common/deps.ts';
import { operationKinds } from '../../src/operations/kinds.ts';
import { createSimProvider, type SimProvider } from '../../src/providers/sim/provider.ts';
import { createOperations } from '../../src/workflow/operations.ts';
import { createMemoryEngine } from './engine/memory-engine.ts';
import { createMemoryEngineState } from './engine/memory-engine-state.ts';
import { fakeControlPlane } from './fake-control-plane.ts';
import type { StoreBench } from './store.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly tcp?: boolean;
}

export interface ApiBench {
  readonly url: string;
  readonly store: Store;
  readonly context: DaemonContext;
  readonly sim: SimProvider;
  readonly socketPath: string;
  /** `HOST:PORT`. */
  readonly tcp: string;
  /** Over the Unix socket, as `local`. */
  readonly client: Client;
  /** What the log was told. */
  readonly logged: readonly string[];
  /** What `stop` was asked for. */
  readonly stops: readonly { readonly database: boolean }[];
  /** The secret of a new token. */
  token(role: Role, owner?: string): Promise<string>;
  /** Over TCP with a token of that role. */
  clientOf(role: Role, owner?: string): Promise<Client>;
  /** One request as it is, without the client's manners. */
  ask(asked: Asked): Promise<Answer>;
  /** As `ask`, and the answer must be a problem document. */
  askProblem(asked: Asked): Promise<Problem>;
  close(): Promise<void>;
}

export interface ApiBenchOptions {
  readonly limits?: Partial<Limits>;
  readonly tls?: TcpOptions['tls'];
  readonly context?: (context: DaemonContext) => DaemonContext;
}

export async function openApi(bench: StoreBench, options: ApiBenchOptions = {}): Promise<ApiBench> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-api-'));
  const socketPath = join(folder, 'api.sock');
  const store = await bench.freshStore();
  const { database } = store;
  const sim = createSimProvider({ timeScale: 100_000, ceilings: {} });
  const world = openWorldCluster(sim.cluster, sim.clock);
  const clusters = openClusters({ book: store.clusterBook, sim: world.cluster, clock: systemClock });
  const controlPlane = fakeControlPlane();
  const images = openImages({
    ...{ home: folder, env: {}, uid: process.getuid?.() ?? 1, version: '0.0.0-test' },
    now: systemClock.now,
  });
  const stopping = new AbortController();
  const stops: { database: boolean }[] = [];
  const logged: string[] = [];
  const say = (message: string, fields?: unknown) => void logged.push(`${message} ${describe(fields)}`);

  const deps: OperationDeps = {
    catalogue: store.catalogue,
    fleet: store.fleet,
    promotion: store.promotion,
    lifecycle: store.lifecycle,
    galleryBook: store.galleryBook,
    clock: systemClock,
    journal: store.journal,
    imagoVersion: '0.0.0-test',
    provider: (name = 'sim') => {
      if (name === 'sim') return sim;
      if (name === 'local') return builderProvider(images.builder);
      throw new ImagoError('provider-unknown', `There is no provider ${name} here.`);
    },
    providers: () => [sim],
    clusterBook: store.clusterBook,
    clusterOf: clusters.ofPool,
    controlPlane,
    desk: () => operations,
    epoch: 0,
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    images: images.imageStore,
  };
  const engine = createMemoryEngine({ state: createMemoryEngineState(), clock: systemClock });
  const operations = createOperations({
    engine,
    journal: store.journal,
    kinds: operationKinds(deps),
    clock: systemClock,
    workClock: () => sim.clock,
    newId: randomUUID,
  });
  await operations.start();
  const context: DaemonContext = {
    version: '0.0.0-test',
    clock: systemClock,
    catalogue: store.catalogue,
    promotion: store.promotion,
    fleet: store.fleet,
    lifecycle: store.lifecycle,
    galleryBook: store.galleryBook,
    clusterBook: store.clusterBook,
    clusters,
    controlPlane,
    webhooks: store.webhooks,
    problems: store.problems,
    changes: store.changes,
    webhookKey: await openWebhookKey(folder),
    journal: store.journal,
    operationLists: store.operationLists,
    operations,
    tokens: store.tokens,
    audit: store.audit,
    idempotency: store.idempotency,
    events: store.events,
    providers: new Map([['sim', sim]]),
    schedules: await createSchedules({
      ...{ engine, operations, store: store.schedules, tokens: store.tokens, events: store.events },
    }),
    archive: createArchive({
      ...{ database, home: folder },
      beforeRestore: () => operations.stop(),
      afterRestore: () => undefined,
    }),
    agent: async () => ({ version: '0.0.0-test', archive: Buffer.from('an agent') }),
    images: images.imageStore,
    sentFiles: sentFiles({ cacheFolder: join(folder, 'cache'), prune: async () => undefined }),
    keys: images.keys,
    attestor: images.attestor,
    settings: { ...openSettings(join(folder, 'home')), running: { given: {}, settings: {} } },
    sim: sim.control,
    async status() {
      return {
        version: '0.0.0-test',
        daemon: {
          pid: process.pid,
          startedAt: new Date().toISOString(),
          uptimeSeconds: 1,
          state: 'active',
          node: process.versions.node,
        },
        database: { embedded: false, state: 'ready' },
        home: folder,
        sockets: { api: socketPath },
        settings: { provider: 'sim' },
        providers: [{ name: 'sim', roles: ['pools'] }],
        operations: { running: 1 },
      };
    },
    doctor: async () => ({
      ok: true,
      findings: [{ id: 'a', group: 'b', title: 'c', state: 'warn', detail: 'd', fix: 'e' }],
    }),
    stop: (asked) => void stops.push(asked),
    stopping: stopping.signal,
  };
  const served = options.context?.(context) ?? context;
  const app = createApp(served, {
    log: { info: say, warn: say, error: say },
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  const listener = await openListener(socketPath, {
    host: '127.0.0.1',
    port: 0,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
  });
  listener.serve(createRequestListener(app));
  const tcp = listener.tcp ?? '';
  const clients: Client[] = [];
  const open = (target: Parameters<typeof createClient>[0]) => {
    const client = checkedClient(createClient(target));
    clients.push(client);
    return client;
  };

  async function token(role: Role, owner = `${role}-owner`): Promise<string> {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    return (await store.tokens.create(owner, role, expiresAt)).secret;
  }

  const api: ApiBench = {
    url: database.url,
    store,
    context: served,
    sim,
    socketPath,
    tcp,
    client: open({ socketPath }),
    logged,
    stops,
    token,
    clientOf: async (role, owner) => open({ url: `http://${tcp}`, token: await token(role, owner) }),
    ask: (asked) =>
      ask(asked.tcp ? { host: '127.0.0.1', port: Number(tcp.split(':')[1]) } : { socketPath }, asked),
    async askProblem(asked) {
      const answer = await api.ask(asked);
      if (!answer.headers['content-type']?.startsWith('application/problem+json')) {
        throw new Error(`No problem document: ${answer.status} ${answer.text}`);
      }
      const problem = problemSchema.parse(JSON.parse(answer.text));
      if (problem.status !== answer.status)
        throw new Error('The problem has another status than its answer.');
      return problem;
    },
    async close() {
      for (const client of clients) client.close();
      stopping.abort();
      await listener.close(500);
      await operations.stop();
      await world.close();
      clusters.close();
      await sim.close();
      await images.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return api;
}

/** Waits for the end of an operation, which must be a success. */
export async function finish(
  api: ApiBench,
  started: { readonly id: string },
): Promise<ResponseOf<'showOperation'>> {
  const path = { operation: started.id };
  for (;;) {
    const now = await api.client.call('waitOperation', { path, query: { seconds: 20 } });
    if (now.state === 'succeeded') return now;
    if (now.state === 'failed' || now.state === 'cancelled')
      throw new Error(`${now.state}: ${now.error?.message}`);
  }
}

/** Builds and tests versions of the image `node`; returns their numbers. */
export async function makeVersions(api: ApiBench, count: number): Promise<readonly string[]> {
  const numbers: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const recipe = `name: node\ncomponents:\n  - name: runc\n    version: 1.1.${n}\n`;
    const built = await finish(api, await api.client.call('createBuild', { body: { recipe } }));
    const { version } = built.result as { readonly version: string };
    await finish(api, await api.client.call('createTest', { body: { reference: `node:${version}` } }));
    numbers.push(version);
  }
  return numbers;
}

/** Throws when an answer is not what the contract says, or has a field that it does not name. */
export function checkAnswer(name: EndpointName, answer: unknown): void {
  const parsed = contractOf(name).response.parse(answer);
  if (isDeepStrictEqual(parsed, answer)) return;
  throw new Error(`${name} answers with more than its contract says: ${JSON.stringify(answer)}`);
}

function checkedClient(client: Client): Client {
  return {
    ...client,
    async call(name: EndpointName, ...rest: unknown[]) {
      const answer = await (client.call as (...words: unknown[]) => Promise<unknown>)(name, ...rest);
      checkAnswer(name, answer);
      return answer;
    },
    async plan(name: EndpointName, ...rest: unknown[]) {
      const answer = await (client.plan as (...words: unknown[]) => Promise<unknown>)(name, ...rest);
      return planSchema.parse(answer);
    },
  } as Client;
}

function ask(
  where: { readonly socketPath: string } | { readonly host: string; readonly port: number },
  { method = 'GET', path, headers = {}, body }: Asked,
): Promise<Answer> {
  const whole = body !== undefined && !('transfer-encoding' in headers);
  const sized = whole ? { ...headers, 'content-length': Buffer.byteLength(body) } : headers;
  return new Promise((resolve, reject) => {
    const asking = request({ ...where, method, path, headers: sized, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    asking.on('error', reject);
    asking.end(body);
  });
}

function describe(fields: unknown): string {
  if (typeof fields !== 'object' || fields === null) return '';
  const { error, ...rest } = fields as { error?: unknown };
  return `${JSON.stringify(rest)} ${error instanceof Error ? error.stack : String(error ?? '')}`;
}
