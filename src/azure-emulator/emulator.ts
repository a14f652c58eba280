// An Azure Resource Manager over the model of a cloud: each subscription is one, and all go by the same clock.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../ports/clock.ts';
import { createSimProvider } from '../providers/sim/provider.ts';
import { ArmError, toArmError } from './arm/arm-error.ts';
import { Budgets } from './arm/budget.ts';
import { Documents } from './arm/documents.ts';
import type { Face, Routes } from './arm/face.ts';
import type { Json } from './arm/json.ts';
import { Operations, type Reply } from './arm/operations.ts';
import { regionNames } from './arm/regions.ts';
import { type Address, isNamed, readAddress } from './arm/resource-id.ts';
import { definitionRoutes } from './gallery/definitions.ts';
import { galleryRoutes } from './gallery/galleries.ts';
import { versionRoutes } from './gallery/versions.ts';
import { answerSignIn, answerSubscription } from './sign-in/sign-in.ts';
import { Tokens } from './sign-in/tokens.ts';

export interface EmulatorOptions {
  readonly subscription: string;
  /** Accepts every subscription id, for clients that bring their own. */
  readonly anySubscription: boolean;
  /** How many times faster than real time it runs; a clock that tests move by hand takes its place. */
  readonly timeScale?: number;
  readonly clock?: Clock;
}

export interface ArmRequest {
  readonly method: string;
  readonly url: URL;
  readonly token: string;
  readonly body: Json;
  readonly form: URLSearchParams;
}

const operationRoutes: Routes = Object.fromEntries(
  (['capsoperations', 'diskoperations', 'operations'] as const).map((poll) => [
    `GET locations/${poll}/*`,
    {
      budget: ['GetOperationStatus', 5_000, 15_000],
      answer: ({ face, address, query }) =>
        face.operations.answer(address.names[1] ?? '', query.get('monitor') === 'true'),
    },
  ]),
);
const routes: Routes = { ...galleryRoutes, ...definitionRoutes, ...versionRoutes, ...operationRoutes };

export class Emulator {
  readonly #options: EmulatorOptions;
  readonly #tokens = new Tokens();
  readonly #faces = new Map<string, Face>();
  readonly #groups = new Map<string, Json>();

  constructor(options: EmulatorOptions) {
    this.#options = options;
    this.#face(options.subscription);
  }

  /** Returns a token that its endpoint accepts. */
  token(): string {
    return this.#tokens.issue('imago').token;
  }

  async handle(request: ArmRequest): Promise<Reply> {
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
  }

  async #answer({ method, url, token, body, form }: ArmRequest): Promise<Reply> {
    const open = answerSignIn(url.pathname, url.origin, form, this.#tokens);
    if (open !== undefined) return open;
    if (!this.#tokens.accepts(token)) {
      throw new ArmError(
        401,
        'AuthenticationFailed',
        "Authentication failed. The 'Authorization' header is missing or invalid.",
      );
    }
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
    const plain = answerSubscription({ method, path: url.pathname, body }, subscriptions, this.#groups);
    if (plain !== undefined) return plain;
    const address = readAddress(url.pathname);
    const route = address && routes[`${method} ${address.type}${isNamed(address) ? '/*' : ''}`];
    if (address === undefined || route === undefined) throw noRoute(method, url.pathname, address);
    const face = this.#face(address.subscription);
    const left =
      route.budget === undefined
        ? {}
        : { 'x-ms-ratelimit-remaining-resource': face.budgets.spend(route.budget) };
    const call = { face, address, method, query: url.searchParams, apiVersion, body, origin: url.origin };
    const reply = await route.answer(call);
    return { ...reply, headers: { ...left, ...reply.headers } };
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
    const face: Face = {
      ...{ subscription, cloud, clock: cloud.clock },
      ...{ documents: new Documents(now), operations: new Operations(now), budgets: new Budgets(now) },
    };
    this.#faces.set(subscription, face);
    return face;
  }
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
