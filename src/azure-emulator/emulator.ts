// An Azure Resource Manager over the model of a cloud: each subscription is one, and all go by the same clock.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../ports/clock.ts';
import { createSimProvider } from '../providers/sim/provider.ts';
import { ArmError, toArmError } from './arm/arm-error.ts';
import { type Budget, Budgets } from './arm/budget.ts';
import { type Document, Documents } from './arm/documents.ts';
import type { Call, Face, Route, Routes } from './arm/face.ts';
import { type Json, textAt, withoutNulls } from './arm/json.ts';
import { type OperationState, Operations, type Reply } from './arm/operations.ts';
import { regionNames } from './arm/regions.ts';
import { checkLinks, spelled } from './arm/request-body.ts';
import { type Address, readAddress } from './arm/resource-id.ts';
import { Blobs } from './blob/blobs.ts';
import { answerBlob, type BlobReply, type BlobRequest } from './blob/service.ts';
import { bootDiagnosticsRoutes } from './compute/boot-diagnostics.ts';
import { extensionRoutes } from './compute/extensions.ts';
import { instanceRoutes } from './compute/instances.ts';
import { marketplaceRoutes } from './compute/marketplace.ts';
import { rollingRoutes } from './compute/rolling.ts';
import { scaleSetRoutes } from './compute/scale-sets.ts';
import { virtualMachineActions } from './compute/virtual-machine-actions.ts';
import { virtualMachineRoutes } from './compute/virtual-machines.ts';
import { Control, LostReply } from './control/control.ts';
import { deploymentRoutes } from './deployment/deployments.ts';
import { accessRoutes } from './disk/access.ts';
import { diskRoutes } from './disk/disks.ts';
import { imageRoutes } from './disk/images.ts';
import { definitionRoutes } from './gallery/definitions.ts';
import { galleryRoutes } from './gallery/galleries.ts';
import { modelNames } from './gallery/names.ts';
import { publicGalleryRoutes } from './gallery/public-galleries.ts';
import { softDeleteRoutes } from './gallery/soft-delete.ts';
import { versionRoutes } from './gallery/versions.ts';
import { answerContents } from './group/group-contents.ts';
import { opaqueRoute } from './opaque/opaque.ts';
import { answerProviders } from './sign-in/providers.ts';
import { answerSignIn, answerSubscription } from './sign-in/sign-in.ts';
import { Tokens } from './sign-in/tokens.ts';
import { type KeptState, StateFolder } from './state/state-folder.ts';

export interface EmulatorOptions {
  readonly subscription: string;
  /** Accepts every subscription id, for clients that bring their own. */
  readonly anySubscription: boolean;
  /** How many times faster than real time it runs; a clock that tests move by hand takes its place. */
  readonly timeScale?: number;
  readonly clock?: Clock;
  /** The folder that keeps everything between runs. Defaults to nothing kept. */
  readonly state?: string;
  /** Gets every exchange with the ARM endpoint, in the form of recorded conversations. */
  readonly log?: (exchange: Exchange) => void;
}

export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly request: Json;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly response: Json | null;
}

export interface ArmRequest {
  readonly method: string;
  readonly url: URL;
  readonly token: string;
  readonly body: Json;
  readonly form: URLSearchParams;
  /** In lower case. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** The resource providers count polls in budgets of their own. */
const pollBudgets: Readonly<Record<string, readonly Budget[]>> = {
  capsoperations: [['GetOperationStatus', 5_000, 15_000]],
  diskoperations: [['GetOperation', 50_000, 400_000]],
  operations: [
    ['GetOperationResource', 45],
    ['GetOperationSubscriptionMaximum', 15_000],
  ],
};
const operationRoutes: Routes = Object.fromEntries(
  Object.entries(pollBudgets).map(([poll, budgets]) => [
    `GET locations/${poll}/*`,
    {
      budgets,
      answer: ({ face, address, query }) =>
        face.operations.answer(address.names[1] ?? '', query.get('monitor') === 'true'),
    },
  ]),
);
const routes: Routes = {
  ...{
    ...galleryRoutes,
    ...definitionRoutes,
    ...versionRoutes,
    ...publicGalleryRoutes,
    ...softDeleteRoutes,
    ...operationRoutes,
  },
  ...{ ...deploymentRoutes, ...marketplaceRoutes },
  ...{ ...diskRoutes, ...accessRoutes, ...imageRoutes },
  ...{
    ...virtualMachineRoutes,
    ...virtualMachineActions,
    ...bootDiagnosticsRoutes,
    ...scaleSetRoutes,
    ...instanceRoutes,
    ...extensionRoutes,
    ...rollingRoutes,
  },
};

export class Emulator {
  readonly #options: EmulatorOptions;
  readonly #tokens = new Tokens();
  readonly #faces = new Map<string, Face>();
  readonly #groups = new Map<string, Json>();
  readonly #control = new Control();
  readonly #state: StateFolder | undefined;
  readonly #kept: KeptState | undefined;
  #blobs: Blobs | undefined;

  constructor(options: EmulatorOptions) {
    this.#options = options;
    this.#state = options.state === undefined ? undefined : new StateFolder(options.state);
    this.#kept = this.#state?.read();
    for (const [id, group] of this.#kept?.groups ?? []) this.#groups.set(id, group);
    for (const subscription of [options.subscription, ...Object.keys(this.#kept?.subscriptions ?? {})]) {
      this.#face(subscription);
    }
  }

  /** Returns a token that its endpoint accepts. */
  token(): string {
    return this.#tokens.issue('imago').token;
  }

  /** Throws only if an ordered fault loses the reply. */
  async handle(request: ArmRequest): Promise<Reply> {
    const { method, url } = request;
    const fault = this.#control.strike(method, url.pathname);
    const refused = fault?.status === undefined ? undefined : refusal(fault);
    const reply = refused ?? (await this.#reply(request));
    if (method !== 'GET') this.#save();
    if (isArm(url.pathname)) this.#options.log?.(exchangeOf(request, reply));
    if (fault !== undefined && refused === undefined) throw new LostReply('An ordered fault lost the reply.');
    return reply;
  }

  async #reply(request: ArmRequest): Promise<Reply> {
    const ids = { 'x-ms-request-id': randomUUID(), 'x-ms-correlation-request-id': randomUUID() };
    try {
      const reply = await this.#answer(request);
      return { ...reply, headers: { ...ids, ...reply.headers } };
    } catch (thrown) {
      const error = toArmError(thrown);
      const wait = error.retryAfter === undefined ? {} : { 'Retry-After': String(error.retryAfter) };
      return { status: error.status, headers: { ...ids, ...wait }, body: error.toBody() };
    }
  }

  async close(): Promise<void> {
    for (const { cloud } of this.#faces.values()) await cloud.close();
    await this.#blobs?.close();
  }

  /** Answers for the storage service. */
  async handleBlob(request: Omit<BlobRequest, 'signedIn'>, token: string): Promise<BlobReply> {
    const { blobs } = this.#face(this.#options.subscription);
    const reply = await answerBlob(blobs, { ...request, signedIn: this.#tokens.accepts(token) });
    if (request.method !== 'GET' && request.method !== 'HEAD') this.#save();
    return reply;
  }

  #save(): void {
    this.#state?.write({
      groups: [...this.#groups],
      subscriptions: Object.fromEntries(
        [...this.#faces].map(([subscription, { documents, operations }]) => [
          subscription,
          { documents: documents.all().filter(isKept), operations: operations.kept() },
        ]),
      ),
      blobs: this.#blobs?.kept() ?? [],
    });
  }

  /** How far the work of an earlier run is follows from its resource. */
  async #stateOf(resource: string): Promise<OperationState> {
    const url = new URL(`https://127.0.0.1${resource}?api-version=2024-11-01`);
    const form = new URLSearchParams();
    const { status, body } = await this.#reply({ method: 'GET', url, token: this.token(), body: {}, form });
    const state = textAt(body, 'properties', 'provisioningState') ?? '';
    if (['Creating', 'Updating', 'Deleting'].includes(state)) return { status: 'InProgress' };
    const endedAt = this.#face(this.#options.subscription).clock.now();
    if (state !== 'Failed')
      return { status: 'Succeeded', endedAt, ...(status === 200 && body ? { output: body } : {}) };
    return {
      status: 'Failed',
      endedAt,
      error: { code: 'OperationFailed', message: 'The operation failed.' },
    };
  }

  async #answer(request: ArmRequest): Promise<Reply> {
    const { method, url, token, form, headers = {} } = request;
    const body = spelled(method === 'PUT' ? withoutNulls(request.body) : request.body);
    const open = answerSignIn(url.pathname, url.origin, form, this.#tokens);
    if (open !== undefined) return open;
    if (!this.#tokens.accepts(token)) {
      throw new ArmError(
        401,
        'AuthenticationFailed',
        "Authentication failed. The 'Authorization' header is missing or invalid.",
      );
    }
    const own = await this.#control.answer(
      method,
      url.pathname,
      body,
      this.#face(this.#options.subscription),
    );
    if (own !== undefined) return own;
    const apiVersion = url.searchParams.get('api-version');
    if (apiVersion === null) {
      throw new ArmError(
        400,
        'MissingApiVersionParameter',
        'The api-version query parameter (?api-version=) is required for all requests.',
      );
    }
    this.#checkSubscription(/^\/subscriptions\/([^/]+)/i.exec(url.pathname)?.[1]);
    const subscriptions = [...this.#faces.keys()];
    const named = /^\/subscriptions\/([^/]+)\//i.exec(url.pathname)?.[1];
    const plain =
      (named === undefined
        ? undefined
        : await answerContents(method, url, this.#face(named), this.#groups)) ??
      answerSubscription({ method, path: url.pathname, body }, subscriptions, this.#groups) ??
      answerProviders(method, url.pathname);
    if (plain !== undefined) return plain;
    const address = readAddress(url.pathname);
    const route = address && routeOf(method, address);
    if (address === undefined || route === undefined) throw noRoute(method, url.pathname, address);
    if (linkedTypes.test(address.type) && method === 'PUT') checkLinks(body.properties, 'properties');
    const face = this.#face(address.subscription);
    const ask = (asked: string, path: string, content: Json) =>
      this.#answer({ ...request, method: asked, url: new URL(path, url.origin), body: content, headers: {} });
    const call = {
      face,
      address,
      method,
      query: url.searchParams,
      apiVersion,
      body,
      headers,
      origin: url.origin,
      ask,
    };
    const left = leftOf(call, route);
    try {
      const reply = await route.answer(call);
      return { ...reply, headers: { ...left, ...reply.headers } };
    } catch (thrown) {
      // Azure Resource Manager itself says what does not exist, before any budget is touched.
      const error = clientNames(call, toArmError(thrown));
      if (error.code === 'ResourceNotFound') throw error;
      const wait = error.retryAfter === undefined ? {} : { 'Retry-After': String(error.retryAfter) };
      return { status: error.status, headers: { ...left, ...wait }, body: error.toBody() };
    }
  }

  #checkSubscription(subscription: string | undefined): void {
    const known = subscription === undefined || subscription.toLowerCase() === this.#options.subscription;
    if (known || this.#options.anySubscription) return;
    throw new ArmError(404, 'SubscriptionNotFound', `The subscription '${subscription}' could not be found.`);
  }

  /** Returns the cloud of a subscription. The first one brings the clock that all go by. */
  #face(named: string): Face {
    const subscription = named.toLowerCase();
    const known = this.#faces.get(subscription);
    if (known !== undefined) return known;
    const [first] = this.#faces.values();
    const clock = first?.clock ?? this.#options.clock;
    const kept = this.#kept?.subscriptions[subscription];
    const cloud = createSimProvider({
      ...(this.#state === undefined
        ? {}
        : { file: this.#state.file(`${encodeURIComponent(subscription)}.db`) }),
      ...(clock === undefined ? { timeScale: this.#options.timeScale ?? 1 } : { clock }),
      abilities: { regions: [...regionNames.keys()] },
      seed: subscription,
      ceilings: {},
    });
    const now = () => cloud.clock.now();
    this.#blobs ??= new Blobs(now, this.#state?.file('blobs.data'), this.#kept?.blobs);
    const face: Face = {
      ...{ subscription, cloud, clock: cloud.clock, blobs: this.#blobs },
      ...{ documents: new Documents(now, kept?.documents), operations: new Operations(now) },
      ...{ budgets: new Budgets(now), faces: () => [...this.#faces.values()] },
    };
    for (const operation of kept?.operations ?? []) {
      face.operations.resume(operation, () => this.#stateOf(operation.resource));
    }
    this.#faces.set(subscription, face);
    return face;
  }
}

const linkedTypes = /^(?:virtualmachines|virtualmachinescalesets|disks|snapshots|images)$/;

/** The model's names of galleries and images are its own: errors say those of the client. */
function clientNames({ address }: Call, error: ArmError): ArmError {
  const [gallery = '', image = ''] = address.names;
  const model = modelNames(address);
  const message = error.message.replaceAll(model.gallery, gallery).replaceAll(model.image, image);
  if (message === error.message) return error;
  const { status, code, target, retryAfter } = error;
  return new ArmError(status, code, message, {
    ...(target === undefined ? {} : { target }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/** A deployment ends with the run; what it made stays. */
function isKept({ type }: Document): boolean {
  return type !== 'Microsoft.Resources/deployments';
}

/** Sign-in is not logged: tokens are in it. */
function isArm(path: string): boolean {
  return /^\/subscriptions(?:\/|$)/i.test(path);
}

function refusal({
  status = 500,
  code,
  message,
  retryAfter,
}: {
  readonly status?: number | undefined;
  readonly code: string;
  readonly message: string;
  readonly retryAfter: number | undefined;
}): Reply {
  const wait = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  const headers = { ...wait, 'x-ms-request-id': randomUUID() };
  return { status, headers, body: new ArmError(status, code, message).toBody() };
}

function exchangeOf({ method, url, body }: ArmRequest, reply: Reply): Exchange {
  const headers = Object.fromEntries(
    Object.entries(reply.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return {
    method,
    url: url.href,
    request: body,
    status: reply.status,
    headers,
    response: reply.body ?? null,
  };
}

function leftOf(call: Call, { budget, budgets }: Route): Readonly<Record<string, string>> {
  const many = typeof budgets === 'function' ? budgets(call) : (budgets ?? []);
  const all = [...many, ...(budget === undefined ? [] : [budget])];
  if (all.length === 0) return {};
  return { 'x-ms-ratelimit-remaining-resource': call.face.budgets.spend(all, call.address.id) };
}

function routeOf(method: string, { type, isNamed }: Address): Route | undefined {
  return routes[`${method} ${type}${isNamed ? '/*' : ''}`] ?? opaqueRoute(type, method, isNamed);
}

function noRoute(method: string, path: string, address: Address | undefined): ArmError {
  if (
    address === undefined ||
    !Object.keys(routes).some((route) => route.includes(` ${address.type.split('/')[0]}`))
  ) {
    return new ArmError(
      404,
      'InvalidResourceType',
      `The resource type of '${path}' is not part of the emulator.`,
    );
  }
  return new ArmError(405, 'MethodNotAllowed', `The method ${method} is not allowed for '${path}'.`);
}
