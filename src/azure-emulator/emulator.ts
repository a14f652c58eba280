// An Azure Resource Manager over the model of a cloud: each subscription is one, and all go by the same clock.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../ports/clock.ts';
import { createSimProvider } from '../providers/sim/provider.ts';
import { ArmError, toArmError } from './arm/arm-error.ts';
import { type Budget, Budgets } from './arm/budget.ts';
import { Documents } from './arm/documents.ts';
import type { Call, Face, Route, Routes } from './arm/face.ts';
import type { Json } from './arm/json.ts';
import { Operations, type Reply } from './arm/operations.ts';
import { regionNames } from './arm/regions.ts';
import { type Address, readAddress } from './arm/resource-id.ts';
import { Blobs } from './blob/blobs.ts';
import { answerBlob, type BlobReply, type BlobRequest } from './blob/service.ts';
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
import { publicGalleryRoutes } from './gallery/public-galleries.ts';
import { softDeleteRoutes } from './gallery/soft-delete.ts';
import { versionRoutes } from './gallery/versions.ts';
import { opaqueRoute } from './opaque/opaque.ts';
import { answerProviders } from './sign-in/providers.ts';
import { answerSignIn, answerSubscription } from './sign-in/sign-in.ts';
import { Tokens } from './sign-in/tokens.ts';

export interface EmulatorOptions {
  readonly subscription: string;
  /** Accepts every subscription id, for clients that bring their own. */
  readonly anySubscription: boolean;
  /** How many times faster than real time it runs; a clock that tests move by hand takes its place. */
  readonly timeScale?: number;
  readonly clock?: Clock;
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
    ...scaleSetRoutes,
    ...instanceRoutes,
    ...rollingRoutes,
  },
};

export class Emulator {
  readonly #options: EmulatorOptions;
  readonly #tokens = new Tokens();
  readonly #faces = new Map<string, Face>();
  readonly #groups = new Map<string, Json>();
  readonly #control = new Control();
  #blobs: Blobs | undefined;

  constructor(options: EmulatorOptions) {
    this.#options = options;
    this.#face(options.subscription);
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
    return answerBlob(blobs, { ...request, signedIn: this.#tokens.accepts(token) });
  }

  async #answer(request: ArmRequest): Promise<Reply> {
    const { method, url, token, body, form, headers = {} } = request;
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
    const plain =
      answerSubscription({ method, path: url.pathname, body }, subscriptions, this.#groups) ??
      answerProviders(method, url.pathname);
    if (plain !== undefined) return plain;
    const address = readAddress(url.pathname);
    const route = address && routeOf(method, address);
    if (address === undefined || route === undefined) throw noRoute(method, url.pathname, address);
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
      const error = toArmError(thrown);
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
    const cloud = createSimProvider({
      ...(clock === undefined ? { timeScale: this.#options.timeScale ?? 1 } : { clock }),
      abilities: { regions: [...regionNames.keys()] },
      seed: subscription,
      ceilings: {},
    });
    const now = () => cloud.clock.now();
    this.#blobs ??= new Blobs(now);
    const face: Face = {
      ...{ subscription, cloud, clock: cloud.clock, blobs: this.#blobs },
      ...{ documents: new Documents(now), operations: new Operations(now), budgets: new Budgets(now) },
      faces: () => [...this.#faces.values()],
    };
    this.#faces.set(subscription, face);
    return face;
  }
}

/** Sign-in is not logged: tokens are in it. */
function isArm(path: string): boolean {
  return /^\/subscriptions(?:\/|$)/i.test(path);
}

function refusal({
  status = 500,
  code,
  retryAfter,
}: {
  readonly status?: number | undefined;
  readonly code: string;
  readonly retryAfter: number | undefined;
}): Reply {
  const wait = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  return { status, headers: wait, body: new ArmError(status, code, 'This failure was ordered.').toBody() };
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
