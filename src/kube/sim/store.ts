// The objects of a simulated cluster, with resource versions and the history that watches resume from.
import { nameOf } from '../../domain/kube/objects.ts';
import type {
  KubeResource,
  KubeResources,
  ObjectName,
  Selection,
  WatchEvent,
  WatchOptions,
} from '../../ports/kube/api.ts';

interface Entry {
  readonly version: number;
  readonly resource: KubeResource;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeResources[KubeResource];
}

/** Where the objects outlive the process. */
export interface KeptObjects {
  /** The objects that were kept, as JSON, by their keys. */
  objects(): ReadonlyMap<string, string>;
  /** Keeps an object, or forgets it. */
  keep(key: string, object: string | undefined): void;
}

const longestHistory = 20_000;

export interface ObjectStore {
  readonly version: string;
  get<R extends KubeResource>(resource: R, name: ObjectName): KubeResources[R] | undefined;
  all<R extends KubeResource>(resource: R, selection?: Selection): readonly KubeResources[R][];
  /** Adds or replaces the object, and returns it with its new resource version. */
  put<R extends KubeResource>(resource: R, object: KubeResources[R]): KubeResources[R];
  remove<R extends KubeResource>(resource: R, object: KubeResources[R]): void;
  watch<R extends KubeResource>(
    resource: R,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<KubeResources[R]>>;
  /** Forgets the history, so that watches from before now expire. */
  compact(): void;
}

export function objectStore(kept?: KeptObjects): ObjectStore {
  const tables = new Map<KubeResource, Map<string, KubeResources[KubeResource]>>();
  const waiting = new Set<() => void>();
  let history: Entry[] = [];
  let version = 1;
  /** The version before the first entry of the history; each entry has the next one. */
  let oldest = 1;

  const table = (resource: KubeResource) => {
    const found = tables.get(resource) ?? new Map();
    tables.set(resource, found);
    return found;
  };
  const keyOf = ({ namespace, name }: ObjectName) => `${namespace ?? ''}/${name}`;

  function record<R extends KubeResource>(resource: R, type: Entry['type'], object: KubeResources[R]) {
    version += 1;
    const { metadata } = object;
    const stored = { ...object, metadata: { ...metadata, resourceVersion: String(version) } };
    history.push({ version, resource, type, object: stored });
    if (history.length > longestHistory) oldest += history.splice(0, longestHistory / 2).length;
    const key = `${resource}/${keyOf(metadata)}`;
    kept?.keep(key, type === 'DELETED' ? undefined : JSON.stringify(stored));
    for (const wake of waiting) wake();
    waiting.clear();
    return stored;
  }

  for (const [key, text] of kept?.objects() ?? []) {
    const object = JSON.parse(text) as KubeResources[KubeResource];
    table(key.slice(0, key.indexOf('/')) as KubeResource).set(keyOf(object.metadata), object);
    version = Math.max(version, Number(object.metadata.resourceVersion));
    oldest = version;
  }

  return {
    get version() {
      return String(version);
    },
    get<R extends KubeResource>(resource: R, name: ObjectName) {
      return table(resource).get(keyOf(name)) as KubeResources[R] | undefined;
    },
    all<R extends KubeResource>(resource: R, selection: Selection = {}) {
      const objects = [...table(resource).values()] as KubeResources[R][];
      return objects
        .filter((object) => isSelected(object, selection))
        .toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)));
    },
    put<R extends KubeResource>(resource: R, object: KubeResources[R]) {
      const key = keyOf(object.metadata);
      const stored = record(resource, table(resource).has(key) ? 'MODIFIED' : 'ADDED', object);
      table(resource).set(key, stored);
      return stored as KubeResources[R];
    },
    remove(resource, object) {
      table(resource).delete(keyOf(object.metadata));
      record(resource, 'DELETED', object);
    },
    async *watch<R extends KubeResource>(resource: R, options: WatchOptions) {
      const { resourceVersion, signal } = options;
      let seen = Number(resourceVersion);
      while (signal?.aborted !== true) {
        if (seen < oldest) return yield { type: 'EXPIRED' };
        const next = history[seen - oldest];
        if (next === undefined) {
          await nextChange(waiting, signal);
          continue;
        }
        seen = next.version;
        if (next.resource === resource && isSelected(next.object, options))
          yield { type: next.type, object: next.object as KubeResources[R] };
      }
    },
    compact() {
      history = [];
      oldest = version;
    },
  };
}

function nextChange(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve);
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

function isSelected(
  object: KubeResources[KubeResource],
  { namespace, fieldSelector = '', labelSelector = '' }: Selection,
): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  const fields = pairsOf(fieldSelector).every(([path, value]) => fieldOf(object, path) === value);
  return fields && pairsOf(labelSelector).every(([key, value]) => object.metadata.labels?.[key] === value);
}

function pairsOf(selector: string): readonly (readonly [string, string])[] {
  return selector
    .split(',')
    .filter((part) => part !== '')
    .map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)] as const);
}

function fieldOf(object: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], object);
}
