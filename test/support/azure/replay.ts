// Replays a recorded conversation. What it presumes but does not make, such as a machine that a deployment made
// before, is made from the first time that the recording shows it.
import { isObject, type Json, listAt, part, textAt } from '../../../src/azure-emulator/arm/json.ts';
import type { Reply } from '../../../src/azure-emulator/arm/operations.ts';
import { type Address, readAddress } from '../../../src/azure-emulator/arm/resource-id.ts';
import { Emulator } from '../../../src/azure-emulator/emulator.ts';
import { createVirtualClock, type VirtualClock } from '../sim/virtual-clock.ts';

export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly request?: Json | null;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly response?: unknown;
}

/** Ids, times, counters, and texts that follow from names or from the guest. */
const opaque =
  /^(?:name|id|uniqueName|publicNames|publishedDate|startTime|endTime|message|nextLink|etag|timeCreated|time|uniqueId|vmId|sourceUniqueId|exactVersion|principalId|tenantId|osName|osVersion|vmAgentVersion|placementGroupId|platformUpdateDomain|platformFaultDomain|accessSAS|computerName|instanceId)$/;
const operationId = /\/((?:caps|Disk)?Operations)\/([0-9a-f-]{36})/i;
const hour = 3_600_000;

/** Returns the difference of every exchange, by its index; `undefined` for those that are equal. */
export async function replay(exchanges: readonly Exchange[]): Promise<Map<number, string | undefined>> {
  const clock = createVirtualClock();
  const emulator = new Emulator({ subscription: '0', anySubscription: true, clock });
  const conversation = new Conversation(emulator, clock, exchanges);
  const differences = new Map<number, string | undefined>();
  for (const [index, exchange] of exchanges.entries()) {
    differences.set(index, await conversation.compare(exchange, index));
  }
  await emulator.close();
  return differences;
}

class Conversation {
  readonly #emulator: Emulator;
  readonly #clock: VirtualClock;
  readonly #exchanges: readonly Exchange[];
  /** Ids that the emulator made, by those of the recording. */
  readonly #ids = new Map<string, string>();

  constructor(emulator: Emulator, clock: VirtualClock, exchanges: readonly Exchange[]) {
    this.#emulator = emulator;
    this.#clock = clock;
    this.#exchanges = exchanges;
  }

  async compare(exchange: Exchange, index: number): Promise<string | undefined> {
    const address = readAddress(new URL(exchange.url, 'https://127.0.0.1').pathname);
    if (address !== undefined) await this.#presume(address, exchange, index);
    const ended = isObject(exchange.response) && exchange.response.status === 'Succeeded';
    const settled = textAt(exchange.response, 'properties', 'provisioningState') === 'Succeeded';
    if (ended || settled) await this.#clock.advance(6 * hour);
    const reply = await this.#ask(exchange.method, exchange.url, exchange.request ?? {});
    this.#learn(exchange, reply);
    if (reply.status !== exchange.status) {
      return `status ${reply.status}, not ${exchange.status}: ${JSON.stringify(reply.body)}`;
    }
    const recorded = JSON.parse(this.#translated(JSON.stringify(exchange.response ?? null))) ?? undefined;
    return compareHeaders(exchange.headers, new Headers(reply.headers)) ?? compare(recorded, reply.body, '');
  }

  #ask(method: string, address: string, body: Json): Promise<Reply> {
    const url = new URL(this.#translated(address), 'https://127.0.0.1');
    const translated = numbered(JSON.parse(this.#translated(JSON.stringify(body))) as Json);
    const token = this.#emulator.token();
    return this.#emulator.handle({ method, url, token, body: translated, form: new URLSearchParams() });
  }

  #translated(text: string): string {
    let result = text;
    for (const [was, is] of this.#ids) result = result.replaceAll(was, is);
    return result;
  }

  /** Makes the machine, set or disk that the recording shows before anything in it made it. */
  async #presume(address: Address, exchange: Exchange, index: number): Promise<void> {
    const base = /^(.*\/(?:virtualMachines|virtualMachineScaleSets|disks|snapshots)\/[^/]+)/i.exec(
      address.id.replace(/(\/virtualMachineScaleSets\/[^/]+)\/.*$/i, '$1'),
    )?.[1];
    if (base === undefined || exchange.status === 404 || exchange.method === 'PUT') return;
    if ((await this.#ask('GET', `${base}?api-version=2024-11-01`, {})).status !== 404) return;
    const shown = this.#exchanges
      .slice(index)
      .find(
        ({ url, response }) =>
          url.split('?')[0]?.toLowerCase().endsWith(base.toLowerCase()) && isObject(response),
      );
    if (shown === undefined || !isObject(shown.response)) {
      if (/virtualMachineScaleSets/i.test(base)) await this.#make(base, this.#impliedSet(base));
      return;
    }
    await this.#make(base, presumed(shown.response, this.#instances(base)?.length));
  }

  async #make(id: string, body: Json): Promise<void> {
    await this.#ask('PUT', `${id}?api-version=2024-11-01`, body);
    await this.#clock.advance(6 * hour);
  }

  /** A set that the recording never shows, from its instances as far as it shows those. */
  #impliedSet(id: string): Json {
    const [instance] = this.#instances(id) ?? [];
    const { computerName: _, ...osProfile } = part(instance, 'properties', 'osProfile');
    const { exactVersion: _exact, ...reference } = part(
      instance,
      'properties',
      'storageProfile',
      'imageReference',
    );
    const marketplace = { publisher: 'p', offer: 'o', sku: 's', version: 'latest' };
    const { storageAccountType } = part(instance, 'properties', 'storageProfile', 'osDisk', 'managedDisk');
    const storageProfile = {
      imageReference: Object.keys(reference).length === 0 ? marketplace : reference,
      ...(storageAccountType === undefined ? {} : { osDisk: { managedDisk: { storageAccountType } } }),
    };
    const networkProfile = part(instance, 'properties', 'networkProfileConfiguration');
    return {
      location: textAt(instance, 'location') ?? 'westus',
      sku: { name: 'Standard_DS1_v2', capacity: this.#instances(id)?.length ?? 2 },
      properties: {
        ...{ orchestrationMode: 'Uniform', automaticRepairsPolicy: { enabled: true } },
        virtualMachineProfile: { storageProfile, osProfile, networkProfile },
      },
    };
  }

  /** The instances of a set when the recording shows them first. */
  #instances(id: string): readonly unknown[] | undefined {
    const wanted = `${id}/virtualMachines`.toLowerCase();
    const list = this.#exchanges.find(({ url }) => url.split('?')[0]?.toLowerCase().endsWith(wanted));
    return list && listAt(list.response, 'value');
  }

  #learn(exchange: Exchange, reply: Reply): void {
    const headers = new Headers(reply.headers);
    const [, , was] = operationId.exec(exchange.headers['azure-asyncoperation'] ?? '') ?? [];
    const [, , is] = operationId.exec(headers.get('azure-asyncoperation') ?? '') ?? [];
    if (was !== undefined && is !== undefined) this.#ids.set(was, is);
    const names = part(exchange.response, 'properties', 'sharingProfile', 'communityGalleryInfo').publicNames;
    const made = part(reply.body, 'properties', 'sharingProfile', 'communityGalleryInfo').publicNames;
    if (Array.isArray(names) && Array.isArray(made)) this.#ids.set(String(names[0]), String(made[0]));
    const unique = textAt(exchange.response, 'properties', 'identifier', 'uniqueName');
    const own = textAt(reply.body, 'properties', 'identifier', 'uniqueName');
    if (unique !== undefined && own !== undefined) this.#ids.set(unique, own);
    for (const [index, item] of listAt(exchange.response, 'value').entries()) {
      const given = listAt(reply.body, 'value')[index];
      const [recordedId, givenId] = [textAt(item, 'instanceId'), textAt(given, 'instanceId')];
      const id = textAt(item, 'id');
      if (recordedId === undefined || givenId === undefined || id === undefined || recordedId === givenId)
        continue;
      this.#ids.set(id, id.replace(/[^/]+$/, givenId));
      this.#ids.set(`/virtualMachines/${recordedId}`, `/virtualMachines/${givenId}`);
    }
  }
}

/** Azure makes more instances than asked for and deletes some; the emulator numbers those that stay. */
function numbered(body: Json): Json {
  const ids = listAt(body, 'instanceIds');
  return ids.some((id) => /^\d+$/.test(String(id)))
    ? { ...body, instanceIds: ids.map((_, index) => String(index)) }
    : body;
}

/** The body that a client would have sent for what the recording shows. */
function presumed(shown: Json, instances: number | undefined): Json {
  const { id: _, name: _name, type: _type, etag: _etag, resources: _resources, ...body } = shown;
  const {
    provisioningState: _state,
    vmId: _vm,
    instanceView: _view,
    timeCreated: _time,
    uniqueId: _unique,
    ...properties
  } = part(shown, 'properties');
  const storage = part(properties, 'storageProfile');
  const strip = ({ toBeDetached: _detached, ...disk }: Json) => {
    const { id: _disk, ...managedDisk } = part(disk, 'managedDisk');
    return { ...disk, ...('managedDisk' in disk ? { managedDisk } : {}) };
  };
  const { exactVersion: _exact, ...imageReference } = part(storage, 'imageReference');
  const storageProfile = {
    ...storage,
    imageReference,
    osDisk: strip(part(storage, 'osDisk')),
    dataDisks: listAt(storage, 'dataDisks').filter(isObject).map(strip),
  };
  const sku = part(shown, 'sku');
  return {
    ...body,
    ...(instances === undefined || !('capacity' in sku) ? {} : { sku: { ...sku, capacity: instances } }),
    properties: { ...properties, ...(Object.keys(storage).length === 0 ? {} : { storageProfile }) },
  };
}

function compareHeaders(recorded: Exchange['headers'], given: Headers): string | undefined {
  for (const name of ['azure-asyncoperation', 'location', 'azure-asyncnotification', 'etag']) {
    if ((recorded[name] !== undefined) !== given.has(name)) return `header ${name}`;
  }
  const names = (text: string | null | undefined) => (text ?? '').replace(/;\d+/g, '');
  const budget = 'x-ms-ratelimit-remaining-resource';
  return names(recorded[budget]) === names(given.get(budget)) ? undefined : `budget ${given.get(budget)}`;
}

function compare(recorded: unknown, given: unknown, path: string): string | undefined {
  if (Array.isArray(recorded) && Array.isArray(given)) {
    if (recorded.length !== given.length) return `${path}: ${given.length} items, not ${recorded.length}`;
    for (const [index, item] of recorded.entries()) {
      const difference = compare(item, given[index], `${path}[${index}]`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  if (isObject(recorded) && isObject(given)) {
    for (const name of new Set([...Object.keys(recorded), ...Object.keys(given)])) {
      if (!(name in recorded)) return `${path}/${name}: not in the recording`;
      if (!(name in given)) return `${path}/${name}: missing`;
      if (opaque.test(name) && typeof recorded[name] === typeof given[name]) continue;
      const difference = compare(recorded[name], given[name], `${path}/${name}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return recorded === given
    ? undefined
    : `${path}: ${JSON.stringify(given)}, not ${JSON.stringify(recorded)}`;
}
