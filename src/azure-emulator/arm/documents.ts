// The resources of a subscription as clients sent them: what the cloud model does not know is kept here and echoed.
import { createHash } from 'node:crypto';
import { isObject, type Json, part } from './json.ts';

export const tenant = '11111111-1111-1111-1111-111111111111';

export interface Document {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly group: string;
  readonly location: string;
  /** Everything but id, name, type, location and provisioning state. */
  readonly body: Json;
  /** What the emulator knows beside it, such as its name in the model. Never shown. */
  readonly own?: Json;
  /** Work in progress until that time, and the body after it; a deletion leaves none. */
  readonly work?: {
    readonly state: 'Creating' | 'Updating' | 'Deleting';
    readonly until: number;
    readonly then?: Json;
  };
}

export class Documents {
  readonly #documents = new Map<string, Document>();
  readonly #now: () => number;

  constructor(now: () => number, kept: readonly Document[] = []) {
    this.#now = now;
    for (const document of kept) this.set(document);
  }

  get(id: string): Document | undefined {
    const key = id.toLowerCase();
    const found = this.#documents.get(key);
    if (found?.work === undefined || this.#now() < found.work.until) return found;
    const { work, ...settled } = found;
    if (work.state === 'Deleting') {
      this.#documents.delete(key);
      return undefined;
    }
    const document = { ...settled, body: work.then ?? found.body };
    this.#documents.set(key, document);
    return document;
  }

  set(document: Document): void {
    this.#documents.set(document.id.toLowerCase(), document);
  }

  delete(id: string): void {
    this.#documents.delete(id.toLowerCase());
  }

  all(): readonly Document[] {
    return [...this.#documents.values()];
  }

  /** Returns the documents directly below that address, in the order of their names. */
  inside(prefix: string): readonly Document[] {
    const start = `${prefix.toLowerCase()}/`;
    const keys = [...this.#documents.keys()].filter(
      (key) => key.startsWith(start) && !key.slice(start.length).includes('/'),
    );
    return this.#sorted(keys);
  }

  /** Returns the documents of a type in all resource groups. */
  ofType(type: string): readonly Document[] {
    const wanted = type.toLowerCase();
    return this.#sorted(
      [...this.#documents].filter(([, found]) => found.type.toLowerCase() === wanted).map(([key]) => key),
    );
  }

  #sorted(keys: readonly string[]): readonly Document[] {
    return [...keys].sort().flatMap((key) => this.get(key) ?? []);
  }
}

/** Returns the document as Azure shows it. */
export function shown({ id, type, name, location, body, work }: Document, state?: string): Json {
  const { properties, identity, ...top } = body;
  const provisioningState = state ?? work?.state ?? 'Succeeded';
  return {
    ...{ name, id, type: type.includes('.') ? type : `Microsoft.Compute/${type}` },
    ...(location === '' ? {} : { location }),
    ...top,
    ...(isObject(identity) ? { identity: identityOf(id, identity) } : {}),
    properties: { ...(properties as Json), provisioningState },
  };
}

/** Azure gives an identity its ids. */
function identityOf(id: string, identity: Json): Json {
  const users = Object.entries(part(identity, 'userAssignedIdentities')).map(([user, known]) => [
    user,
    { ...part(known), principalId: stableId(user), clientId: stableId('client', user) },
  ]);
  return {
    ...identity,
    ...(String(identity.type).includes('SystemAssigned')
      ? { principalId: stableId(id), tenantId: tenant }
      : {}),
    ...(users.length === 0 ? {} : { userAssignedIdentities: Object.fromEntries(users) }),
  };
}

/** An id that follows from what it names, in the shape of a random one. */
export function stableId(...parts: readonly string[]): string {
  const hex = createHash('sha256').update(parts.join('\n').toLowerCase()).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
