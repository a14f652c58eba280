// Template deployments: each resource is sent to the emulator itself when everything that it depends on is there.
import { randomUUID } from 'node:crypto';
import { ArmError } from '../arm/arm-error.ts';
import { type Document, shown } from '../arm/documents.ts';
import type { Call, Routes } from '../arm/face.ts';
import { isObject, type Json, listAt, part, textAt } from '../arm/json.ts';
import { azureTime, type Reply } from '../arm/operations.ts';
import { page, requireDocument } from '../arm/resource.ts';
import { ownerOf, ownName } from '../arm/resource-id.ts';
import { evaluate, type Functions, plainFunctions } from './expressions.ts';

const type = 'Microsoft.Resources/deployments';

interface Resource {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly apiVersion: string;
  readonly body: Json;
  readonly dependsOn: readonly string[];
  /** Where its work is polled, while it runs. */
  poll?: string;
  state: 'waiting' | 'running' | 'done' | 'failed';
  error?: Json;
}

interface Deployment {
  readonly startedAt: number;
  readonly resources: readonly Resource[];
  readonly outputs: Json;
  readonly functions: Functions;
}

export const deploymentRoutes: Routes = {
  'PUT microsoft.resources/deployments/*': { answer: put },
  'GET microsoft.resources/deployments/*': {
    answer: async (call) => ({ status: 200, body: await view(call, requireDocument(call)) }),
  },
  'GET microsoft.resources/deployments': { answer: list },
  'POST microsoft.resources/deployments/validate': { answer: validate },
  'GET microsoft.resources/deployments/operations': { answer: operations },
  'GET microsoft.resources/deployments/operationstatuses/*': { answer: status },
  'DELETE microsoft.resources/deployments/*': {
    answer: async ({ face, address }) => {
      face.documents.delete(address.id);
      return { status: 204 };
    },
  },
};

async function put(call: Call): Promise<Reply> {
  const { face, address, body, origin, apiVersion } = call;
  const deployment = readTemplate(call);
  const properties = {
    mode: part(body, 'properties').mode ?? 'Incremental',
    timestamp: azureTime(face.clock.now()),
    correlationId: randomUUID(),
    parameters: shownParameters(call),
  };
  const document: Document = {
    ...{ id: address.id, group: address.group, type, name: ownName(address), location: '' },
    ...{ body: { properties }, own: { deployment } },
  };
  face.documents.set(document);
  await advance(call, deployment);
  const poll = `${origin}${address.id}/operationStatuses/${face.clock.now()}?api-version=${apiVersion}`;
  return {
    status: 201,
    headers: { 'Azure-AsyncOperation': poll, 'Retry-After': '1' },
    body: shown(document, 'Accepted'),
  };
}

async function validate(call: Call): Promise<Reply> {
  const { resources } = readTemplate(call);
  const { id, group } = ownerOf(call.address);
  const validatedResources = resources.map((one) => ({ id: one.id }));
  const document = { id, group, type, name: id.split('/').at(-1) ?? '', location: '' };
  return {
    status: 200,
    body: shown({ ...document, body: { properties: { mode: 'Incremental', validatedResources } } }),
  };
}

function readTemplate(call: Call): Deployment {
  const { face, address, body } = call;
  const template = part(body, 'properties', 'template');
  const scope = address.id.slice(0, address.id.toLowerCase().indexOf('/providers/'));
  const given = part(body, 'properties', 'parameters');
  const resources: Resource[] = [];
  const functions: Functions = {
    ...plainFunctions,
    parameters: (name) => parameterOf(template, given, String(name), functions),
    variables: (name) => evaluate(part(template, 'variables')[String(name)], functions),
    resourceid: (...words) => resourceId(scope, words.map(String)),
    resourcegroup: () => ({ id: scope, name: address.group, location: groupLocation(call, scope) }),
    subscription: () => ({ subscriptionId: face.subscription, id: `/subscriptions/${face.subscription}` }),
    reference: (named) => referenced(call, scope, resources, String(named)),
  };
  for (const item of listAt(template, 'resources').filter(isObject)) {
    const { dependsOn, ...rest } = item;
    const resource = evaluate(rest, functions) as Json;
    const [kind, name] = [String(resource.type), String(resource.name)];
    const needs = (evaluate(dependsOn ?? [], functions) as readonly string[]).map((one) =>
      needed(scope, one),
    );
    const { type: _, name: _name, apiVersion: version, ...content } = resource;
    const id = resourceId(scope, [kind, ...name.split('/')]);
    resources.push({
      id,
      type: kind,
      name,
      apiVersion: String(version),
      body: content,
      dependsOn: needs,
      state: 'waiting',
    });
  }
  const known = new Set(resources.map(({ id }) => id.toLowerCase()));
  for (const { dependsOn, name } of resources) {
    const missing = dependsOn.find((id) => !known.has(id.toLowerCase()));
    if (missing === undefined) continue;
    throw new ArmError(
      400,
      'InvalidTemplate',
      `Deployment template validation failed: 'The resource '${missing}' is not defined in the template, but '${name}' depends on it.'`,
    );
  }
  return { startedAt: face.clock.now(), resources, outputs: part(template, 'outputs'), functions };
}

function parameterOf(template: Json, given: Json, name: string, functions: Functions): unknown {
  const asked = part(given, name);
  if ('value' in asked) return asked.value;
  const declared = part(template, 'parameters', name);
  if ('defaultValue' in declared) return evaluate(declared.defaultValue, functions);
  throw new ArmError(
    400,
    'InvalidTemplate',
    `Deployment template validation failed: the parameter '${name}' has no value.`,
  );
}

/** Values of secure parameters are not shown. */
function shownParameters({ body }: Call): Json {
  const declared = part(body, 'properties', 'template', 'parameters');
  const given = Object.entries(part(body, 'properties', 'parameters'));
  return Object.fromEntries(
    given.map(([name, value]) => {
      const kind = textAt(declared, name, 'type') ?? 'String';
      return [name, /^secure/i.test(kind) ? { type: kind } : { type: kind, ...part({ value }, 'value') }];
    }),
  );
}

/** Types and names alternate: `A/b/c` with `x`, `y` is `/providers/A/b/x/c/y`. */
function resourceId(scope: string, words: readonly string[]): string {
  const first = words.findIndex((word) => word.includes('/'));
  const [provider = '', ...types] = (words[first] ?? '').split('/');
  const names = words.slice(first + 1);
  const path = types.map((kind, index) => `${kind}/${names[index]}`).join('/');
  return `${scope}/providers/${provider}/${path}`;
}

/** A dependency is written as an id or as type and name. */
function needed(scope: string, text: string): string {
  if (text.startsWith('/')) return text;
  const [provider = '', ...rest] = text.split('/');
  if (provider.includes('.')) return `${scope}/providers/${provider}/${rest.join('/')}`;
  return text;
}

function groupLocation({ face }: Call, scope: string): string {
  return (
    face.documents.all().find(({ id }) => id.toLowerCase().startsWith(scope.toLowerCase()))?.location ??
    'westus'
  );
}

function referenced({ face }: Call, scope: string, resources: readonly Resource[], named: string): unknown {
  const id = named.startsWith('/')
    ? named
    : (resources.find(({ name }) => name === named)?.id ?? `${scope}/${named}`);
  const found = face.documents.get(id);
  return found === undefined ? {} : part(shown(found), 'properties');
}

/** Starts every resource whose dependencies are done, and looks after those that run. */
async function advance(call: Call, { resources }: Deployment): Promise<void> {
  const failed = resources.some(({ state }) => state === 'failed');
  for (const resource of resources) {
    if (resource.state === 'running') await follow(call, resource);
    if (resource.state !== 'waiting' || failed) continue;
    const ready = resource.dependsOn.every((id) =>
      resources.some((one) => one.id.toLowerCase() === id.toLowerCase() && one.state === 'done'),
    );
    if (!ready) continue;
    const path = `${resource.id}?api-version=${resource.apiVersion}`;
    const reply = await asked(call, 'PUT', path, resource.body);
    resource.state = reply.status < 400 ? 'running' : 'failed';
    if (resource.state === 'failed') resource.error = part(reply.body, 'error');
    const poll = reply.headers?.['Azure-AsyncOperation'];
    if (poll === undefined) resource.state = resource.state === 'failed' ? 'failed' : 'done';
    else resource.poll = poll;
  }
}

async function follow(call: Call, resource: Resource): Promise<void> {
  const reply = await asked(call, 'GET', resource.poll ?? '', {});
  const ended = textAt(reply.body, 'status');
  if (ended === 'Succeeded') resource.state = 'done';
  if (ended === 'Failed') {
    resource.state = 'failed';
    resource.error = part(reply.body, 'error');
  }
}

async function asked(call: Call, method: string, path: string, body: Json): Promise<Reply> {
  try {
    return await call.ask(method, path, body);
  } catch (thrown) {
    if (thrown instanceof ArmError) return { status: thrown.status, body: thrown.toBody() };
    throw thrown;
  }
}

async function advanced(
  call: Call,
  document: Document,
): Promise<{ readonly deployment: Deployment; readonly state: string }> {
  const deployment = document.own?.deployment as Deployment;
  let before: string;
  do {
    before = deployment.resources.map(({ state }) => state).join();
    await advance(call, deployment);
  } while (before !== deployment.resources.map(({ state }) => state).join());
  const states = new Set(deployment.resources.map(({ state }) => state));
  if (states.has('failed') && !states.has('running')) return { deployment, state: 'Failed' };
  return { deployment, state: states.has('waiting') || states.has('running') ? 'Running' : 'Succeeded' };
}

function failureOf({ resources }: Deployment): Json {
  const details = resources.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const message =
    'At least one resource deployment operation failed. Please list deployment operations for details. Please see https://aka.ms/arm-deployment-operations for usage details.';
  return { code: 'DeploymentFailed', message, details };
}

async function status(call: Call): Promise<Reply> {
  const document = requireDocument(call, call.address.id.replace(/\/operationStatuses\/.*$/i, ''));
  const { deployment, state } = await advanced(call, document);
  const wait = state === 'Running' ? { 'Retry-After': '1' } : {};
  return {
    status: 200,
    headers: wait,
    body: { status: state, ...(state === 'Failed' ? { error: failureOf(deployment) } : {}) },
  };
}

async function view(call: Call, document: Document): Promise<Json> {
  const { deployment, state } = await advanced(call, document);
  const outputs =
    state === 'Succeeded'
      ? Object.fromEntries(
          Object.entries(evaluate(deployment.outputs, deployment.functions) as Json).map(([name, value]) => [
            camelCase(name),
            value,
          ]),
        )
      : {};
  const outputResources = deployment.resources
    .filter((one) => one.state === 'done')
    .map(({ id }) => ({ id }));
  const properties = {
    ...part(document.body, 'properties'),
    ...{
      outputs,
      outputResources,
      duration: `PT${Math.ceil((call.face.clock.now() - deployment.startedAt) / 1000)}S`,
    },
    ...(state === 'Failed' ? { error: failureOf(deployment) } : {}),
  };
  return shown({ ...document, body: { ...document.body, properties } }, state);
}

/** Azure returns the output `VMSS` as `vmss`, and `SetName` as `setName`. */
function camelCase(name: string): string {
  return name.replace(/^[A-Z]+(?=[A-Z][a-z])|^[A-Z]+/, (start) => start.toLowerCase());
}

async function list(call: Call): Promise<Reply> {
  return page(
    call,
    await Promise.all(call.face.documents.inside(call.address.id).map((one) => view(call, one))),
  );
}

async function operations(call: Call): Promise<Reply> {
  const document = requireDocument(call, ownerOf(call.address).id);
  const { deployment } = await advanced(call, document);
  const states = { waiting: 'Accepted', running: 'Running', done: 'Succeeded', failed: 'Failed' } as const;
  const value = deployment.resources.map((one, index) => ({
    id: `${document.id}/operations/${index}`,
    operationId: String(index),
    properties: {
      ...{ provisioningOperation: 'Create', provisioningState: states[one.state] },
      targetResource: { id: one.id, resourceType: one.type, resourceName: one.name },
      ...(one.error === undefined ? {} : { statusMessage: { error: one.error } }),
    },
  }));
  return { status: 200, body: { value } };
}
