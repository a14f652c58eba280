// A new kind of operation is its declaration and its steps: everything else derives from the two.
import { expect, test } from 'vitest';
import * as z from 'zod';
import { commandOf } from '../api/contract/command.ts';
import { routesFrom } from '../api/contract/operation-routes.ts';
import { openApiDocument } from '../api/openapi/openapi.ts';
import { group, subject } from '../cli/run/builders.ts';
import { withDerived } from '../cli/run/derived.ts';
import { type CommandSpec, isGroup, loadCommand } from '../cli/spec/command.ts';
import { helpOf } from '../cli/spec/help.ts';
import { handlersFrom } from '../daemon/http/endpoint/start-operation.ts';
import { declareOperation } from '../domain/operation/declaration.ts';
import { roleOfKind } from '../domain/operation-kinds.ts';
import { name, request } from '../domain/value/fields.ts';
import type { OperationDeps } from './common/deps.ts';
import { operation } from './common/operation.ts';
import { operationKinds } from './kinds.ts';

const body = request('PaintRequest', {
  color: z.enum(['red', 'blue']).describe('Color of the nodes.'),
  coats: z.int().min(1).optional().describe('Number of coats.'),
});

const declaration = declareOperation({
  kind: 'pool-paint',
  role: 'operator',
  subject: ({ pool }) => `pool/${pool}`,
  input: z.object({ pool: name, ...body.shape }),
  routes: {
    paintPool: {
      address: 'POST /v1/pools/{pool}/paint',
      tag: 'Pools',
      summary: 'Paint the nodes of a pool',
      command: { words: 'pool paint', examples: [['imago pool paint web --color red', 'Paint them red']] },
      body,
    },
  },
});

const poolPaint = operation(declaration, {
  plan: ({ input }) => [`Paint ${input.pool} ${input.color}.`],
}).step('paint', ({ input }) => ({ painted: input.color }));

const routes = routesFrom([declaration]);

test('its role follows from the declaration', () => {
  expect(roleOfKind('pool-paint', [declaration])).toBe('operator');
  expect(roleOfKind('unknown', [declaration])).toBe('admin');
});

test('its endpoint follows from the declaration', () => {
  expect(routes.paintPool).toMatchObject({
    ...{ effect: 'operation', status: 202, method: 'POST', url: '/v1/pools/{pool}/paint' },
    ...{ role: 'operator', tag: 'Pools', body },
  });
});

test('its entry in the OpenAPI document follows from the declaration', () => {
  const document = openApiDocument(routes);
  expect(document.paths['/v1/pools/{pool}/paint']?.post).toMatchObject({
    ...{ operationId: 'paintPool', 'x-imago-role': 'operator' },
    requestBody: {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/PaintRequest' } } },
    },
  });
  expect(document.components.schemas).toHaveProperty('PaintRequest');
});

test('its handler starts it with the fields of the path and the body', async () => {
  const submitted: unknown[] = [];
  const operations = {
    prepare: async () => ({}),
    plan: async () => [],
    submit: async (asked: unknown) => submitted.push(asked),
  };
  const call = {
    ...{ path: { pool: 'web' }, query: {}, body: { color: 'red' }, whenBusy: 'wait' },
    caller: { who: 'ann', local: true },
    context: { operations, journal: { get: async () => undefined } },
  };
  const prepared = await handlersFrom([declaration]).paintPool?.(call as never);
  expect(prepared?.subject).toBe('pool/web');
  await prepared?.run();
  expect(submitted).toMatchObject([{ kind: 'pool-paint', input: { pool: 'web', color: 'red' } }]);
});

test('its command follows from the declaration', async () => {
  const derived = Object.entries(routes).flatMap(([endpoint, route]) => commandOf(endpoint, route) ?? []);
  const tree = { pool: subject('Manage node pools', async () => ({ command: group({}) })) };
  const pool = await loadCommand(withDerived(tree, derived).pool);
  const paint = isGroup(pool) ? (pool.commands.paint as CommandSpec) : undefined;
  expect(paint).toMatchObject({
    endpoint: 'paintPool',
    args: [{ name: 'POOL', completes: 'pool' }],
    flags: { color: { choices: ['red', 'blue'], required: true }, coats: { value: 'N' }, 'dry-run': {} },
  });
  expect(helpOf('pool paint', paint as CommandSpec)).toMatch(/^Paint the nodes of a pool\.\n/);
});

test('its steps are found by its kind', async () => {
  const kinds = operationKinds({} as OperationDeps, [poolPaint]);
  expect([...kinds.keys()]).toEqual(['pool-paint']);
  const input = kinds.get('pool-paint')?.parse({ pool: 'web', color: 'blue' });
  expect(await kinds.get('pool-paint')?.plan(input as never, { by: 'ann' })).toEqual(['Paint web blue.']);
  expect(kinds.get('pool-paint')?.steps(input as never)).toMatchObject([{ name: 'paint' }]);
});
