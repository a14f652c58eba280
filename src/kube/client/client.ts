// The Kubernetes API over HTTP: typed results, all pages of a list, and retries of what a second call does not change.
import { defaultRetry, type RetryPolicy, retryAfterMs, withRetry } from '../../async/retry.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Status } from '../../domain/kube/objects.ts';
import type {
  Discovery,
  KubeApi,
  KubeCall,
  KubeResource,
  KubeResources,
  ObjectList,
  Selection,
} from '../../ports/kube/api.ts';
import type { Connection } from './kubeconfig.ts';
import { pathOf, resources } from './resources.ts';
import { type KubeRequest, type KubeResponse, openTransport } from './transport.ts';
import { readWatch } from './watch-stream.ts';

export interface ClientOptions {
  /** The limit for one response. Defaults to 30 s. */
  readonly timeoutMs?: number;
  readonly retry?: RetryPolicy;
  /** The number of objects in one page of a list. Defaults to 500, as kubectl has it. */
  readonly pageSize?: number;
  /** How long the server keeps a watch open. Defaults to 4 minutes. */
  readonly watchSeconds?: number;
}

export interface KubeClient extends KubeApi {
  /** The address of the API server, without credentials. */
  readonly server: string;
  /** The authorities of the API server, in PEM; absent if the kubeconfig names none. */
  readonly ca?: string | undefined;
  /** Whether the API server says that it is ready for all requests. */
  isReady(call: KubeCall): Promise<boolean>;
  /** Closes idle connections. */
  close(): void;
}

/** Names Imago in the managed fields of objects that it writes. */
export const fieldManager = 'imago';

/** The oldest supported minor version of Kubernetes 1: the first one without policy/v1beta1. */
const oldestMinor = 25;

/** Whom a request concerns, for messages: `patch` of `nodes`. */
interface Subject {
  readonly verb: string;
  readonly resource: string;
}

type Request = Omit<KubeRequest, 'timeoutMs'> & { readonly subject: Subject };

export function kubeClient(connection: Connection, options: ClientOptions = {}): KubeClient {
  const { timeoutMs = 30_000, retry = defaultRetry, pageSize = 500, watchSeconds = 240 } = options;
  const transport = openTransport(connection);
  let discovered: Promise<Discovery> | undefined;

  /** Sends a request whose repetition has no further effect. */
  function send<T>(request: Request, absent: readonly number[] = []): Promise<T | undefined> {
    return withRetry(retry, request.signal, async () => {
      const response = await transport.send({ ...request, timeoutMs });
      if (absent.includes(response.status)) return undefined;
      return readBody<T>(response, request.subject);
    });
  }

  async function discover(call: KubeCall): Promise<Discovery> {
    const subject = { verb: 'get', resource: 'the API' };
    const read = async <T>(path: string) => {
      const found = await send<T>({ ...call, method: 'GET', path, subject });
      return found as T;
    };
    const { gitVersion: version } = await read<{ gitVersion: string }>('/version');
    const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(version) ?? [];
    if (major === undefined || Number(major) < 1 || (major === '1' && Number(minor) < oldestMinor))
      throw new ImagoError(
        'cluster-version-unsupported',
        `The cluster runs Kubernetes ${version}; Imago supports 1.${oldestMinor} and newer.`,
      );
    const { resources: served } = await read<{ resources: readonly Served[] }>('/api/v1');
    const eviction = served.find(({ name, kind }) => name === 'pods/eviction' && kind === 'Eviction');
    const { group, version: number } = eviction ?? {};
    return { version, evictionVersion: group && number ? `${group}/${number}` : undefined };
  }

  async function listPages<R extends KubeResource>(
    resource: R,
    { namespace, fieldSelector, labelSelector, signal }: Selection,
  ): Promise<ObjectList<KubeResources[R]> | 'expired'> {
    const items: KubeResources[R][] = [];
    let next: string | undefined;
    let resourceVersion: string | undefined;
    do {
      const page = await send<Page<KubeResources[R]>>(
        {
          ...{ method: 'GET', path: pathOf(resource, { namespace }), signal },
          query: { limit: String(pageSize), fieldSelector, labelSelector, continue: next },
          subject: { verb: 'list', resource },
        },
        next === undefined ? [] : [410],
      );
      if (page === undefined) return 'expired';
      items.push(...(page.items ?? []));
      resourceVersion ??= page.metadata.resourceVersion;
      next = page.metadata.continue || undefined;
    } while (next !== undefined);
    return { items, resourceVersion: resourceVersion ?? '0' };
  }

  return {
    ca: connection.ca,
    server: `${connection.server.origin}${connection.server.pathname}`.replace(/\/$/, ''),

    discover(call = {}) {
      discovered ??= discover(call).catch((error: unknown) => {
        discovered = undefined;
        throw error;
      });
      return discovered;
    },

    get: (resource, name, call = {}) =>
      send(
        { ...call, method: 'GET', path: pathOf(resource, name), subject: { verb: 'get', resource } },
        [404],
      ),

    async list(resource, selection = {}) {
      // Pages belong to one snapshot, which the server drops after some minutes.
      const first = await listPages(resource, selection);
      const found = first === 'expired' ? await listPages(resource, selection) : first;
      if (found !== 'expired') return found;
      throw new ImagoError(
        'cluster-request-failed',
        `The list of ${resource} expired twice while it was read.`,
      );
    },

    async create(resource, object, call = {}) {
      const { apiVersion, kind } = resources[resource];
      const path = pathOf(resource, { namespace: object.metadata.namespace });
      const response = await transport.send({
        ...{ ...call, method: 'POST', path, query: { fieldManager }, timeoutMs },
        body: { apiVersion, kind, ...object },
      });
      return readBody(response, { verb: 'create', resource });
    },

    patch(resource, name, patch, { resourceVersion, subresource, signal } = {}) {
      const metadata = { ...('metadata' in patch ? (patch.metadata as object) : {}) };
      const guarded = resourceVersion === undefined ? metadata : { ...metadata, resourceVersion };
      const target = subresource === undefined ? resource : `${resource}/${subresource}`;
      return send(
        {
          ...{ method: 'PATCH', contentType: 'application/merge-patch+json', signal },
          path: `${pathOf(resource, name)}${subresource === undefined ? '' : `/${subresource}`}`,
          query: { fieldManager },
          body: { ...patch, metadata: guarded },
          subject: { verb: 'patch', resource: target },
        },
        [404],
      );
    },

    async delete(resource, name, { uid, gracePeriodSeconds, signal } = {}) {
      await send(
        {
          ...{ method: 'DELETE', path: pathOf(resource, name), signal },
          body: deleteOptions(uid, gracePeriodSeconds),
          subject: { verb: 'delete', resource },
        },
        uid === undefined ? [404] : [404, 409],
      );
    },

    async evict(pod, { uid, gracePeriodSeconds, signal } = {}) {
      const { evictionVersion } = await this.discover({ signal });
      const response = await transport.send({
        ...{ method: 'POST', path: `${pathOf('pods', pod)}/eviction`, signal, timeoutMs },
        body: {
          ...{ apiVersion: evictionVersion, kind: 'Eviction', metadata: pod },
          deleteOptions: deleteOptions(uid, gracePeriodSeconds),
        },
      });
      const status = statusOf(response);
      if (response.status === 401) throw statusError(status, { verb: 'create', resource: 'pods/eviction' });
      return status;
    },

    async allows({ verb, group, resource, subresource }, { signal } = {}) {
      const review = await send<{ readonly status?: { readonly allowed?: boolean } }>({
        ...{ method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', signal },
        body: {
          ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' },
          spec: { resourceAttributes: { verb, group, resource, subresource } },
        },
        subject: { verb: 'create', resource: 'selfsubjectaccessreviews' },
      });
      return review?.status?.allowed === true;
    },

    async *watch(resource, { resourceVersion, namespace, fieldSelector, labelSelector, signal }) {
      const { status, body } = await transport.stream({
        ...{ method: 'GET', path: pathOf(resource, { namespace }), signal },
        query: {
          ...{ watch: '1', allowWatchBookmarks: 'true', timeoutSeconds: String(watchSeconds) },
          ...{ resourceVersion, fieldSelector, labelSelector },
        },
        timeoutMs: watchSeconds * 1000 + timeoutMs,
      });
      yield* readWatch(status, body, (found) => statusError(found, { verb: 'watch', resource }));
    },

    async isReady({ signal }) {
      const { status } = await transport.send({ method: 'GET', path: '/readyz', signal, timeoutMs });
      return status === 200;
    },

    close: () => transport.close(),
  };
}

interface Served {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
}

interface Page<T> {
  readonly items?: readonly T[] | null;
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
}

function deleteOptions(uid: string | undefined, gracePeriodSeconds: number | undefined): object {
  return { gracePeriodSeconds, ...(uid === undefined ? {} : { preconditions: { uid } }) };
}

function readBody<T>(response: KubeResponse, subject: Subject): T {
  if (response.status < 200 || response.status > 299) throw statusError(statusOf(response), subject);
  try {
    return JSON.parse(response.body) as T;
  } catch (cause) {
    throw new ImagoError(
      'cluster-request-failed',
      'The Kubernetes API server sent something that is not JSON.',
      {
        cause,
      },
    );
  }
}

/** Returns the response as a status, even if something before the API server sent it. */
function statusOf({ status: code, body, retryAfter }: KubeResponse): Status {
  let found: Status = {};
  try {
    found = JSON.parse(body) as Status;
  } catch {
    found = { message: body.slice(0, 200) };
  }
  const seconds = (retryAfterMs(retryAfter, Date.now()) ?? 0) / 1000;
  const details = seconds > 0 ? { retryAfterSeconds: seconds, ...found.details } : found.details;
  return { ...found, code, ...(details === undefined ? {} : { details }) };
}

/** Returns the error for a response that is not a success. */
function statusError(status: Status, { verb, resource }: Subject): ImagoError {
  const { code = 0, message = '' } = status;
  const retryAfter = status.details?.retryAfterSeconds;
  const server = 'the Kubernetes API server';
  if (code === 401)
    return new ImagoError('cluster-unauthorized', `${server} rejected the credentials: ${message}.`);
  if (code === 403)
    return new ImagoError(
      'cluster-forbidden',
      `The credentials do not allow ${verb} of ${resource}: ${message}`,
      {
        details: { verb, resource },
      },
    );
  if (code === 409)
    return new ImagoError('cluster-conflict', `${server} refused ${verb} of ${resource}: ${message}`);
  return new ImagoError(
    'cluster-request-failed',
    `${server} responded with ${code} to ${verb} of ${resource}: ${message}`,
    {
      retryable: code === 429 || code >= 500,
      details: {
        ...{ status: code, verb, resource },
        ...(retryAfter === undefined ? {} : { retryAfterMs: retryAfter * 1000 }),
      },
    },
  );
}
