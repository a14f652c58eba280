// Feeds every recorded reply of Azure to the client: it understands each, and loses nothing of it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import type { Address } from '../../src/providers/azure/arm/address.ts';
import { ArmClient } from '../../src/providers/azure/arm/client.ts';
import type { HttpReply } from '../../src/providers/azure/arm/transport.ts';
import { createVirtualClock } from '../support/sim/virtual-clock.ts';

interface Exchange {
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  readonly url: string;
  readonly request?: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly response?: unknown;
}

const oracles = process.env.IMAGO_AZURE_ORACLES;
const endpoint = 'https://management.azure.com';
const { signal } = new AbortController();

test.skipIf(oracles === undefined)('the client understands every recorded reply', async () => {
  const folder = join(oracles ?? '', 'conversations');
  const wrong: string[] = [];
  let total = 0;
  for (const file of readdirSync(folder).sort()) {
    const lines = readFileSync(join(folder, file), 'utf8').trim().split('\n');
    for (const [index, line] of lines.entries()) {
      const exchange = JSON.parse(line) as Exchange;
      const address = readAddress(exchange.url);
      if (address === undefined) continue;
      total += 1;
      const difference = await understand(exchange, address).catch((error: unknown) => String(error));
      if (difference !== undefined) wrong.push(`${file}:${index + 1}: ${difference}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(total).toBeGreaterThan(500);
});

async function understand(exchange: Exchange, address: Address): Promise<string | undefined> {
  const { method, status, headers, response, url } = exchange;
  const body = response === undefined || response === null ? '' : JSON.stringify(response);
  const reply: HttpReply = { status, headers, body: Buffer.from(body) };
  const arm = new ArmClient({
    ...{ endpoint, subscription: '0', group: 'g', clock: createVirtualClock(), token: async () => 'token' },
    transport: { send: async () => reply, close: () => undefined },
  });
  if (/operations\//i.test(url)) return readPoll(arm, exchange);
  if (method === 'GET') {
    if (status === 404) return (await arm.get(address, signal)) === undefined ? undefined : 'found something';
    const isList = Array.isArray((response as { readonly value?: unknown }).value);
    if (!isList) return same(await arm.get(address, signal), response);
    const only = { ...(response as object), nextLink: undefined };
    const one = new ArmClient({
      ...{ endpoint, subscription: '0', group: 'g', clock: createVirtualClock(), token: async () => 'token' },
      transport: {
        send: async () => ({ ...reply, body: Buffer.from(JSON.stringify(only)) }),
        close: () => undefined,
      },
    });
    return same(await one.list(address, signal), (response as { readonly value: unknown }).value);
  }
  const call = () => {
    if (method === 'DELETE') return arm.delete(address, signal);
    if (method === 'POST') return arm.post(address, exchange.request ?? undefined, signal);
    return arm[method === 'PUT' ? 'put' : 'patch'](address, exchange.request, signal);
  };
  if (status >= 400) {
    const error = await call().catch((thrown: unknown) => thrown);
    const { code } = (response as { readonly error: { readonly code: string } }).error;
    const named = error instanceof ImagoError && error.details?.azureCode === code;
    return named ? undefined : `the error is not ${code}`;
  }
  const started = await call();
  const poll = headers['azure-asyncoperation'] ?? (status === 202 ? headers.location : undefined);
  return (
    same(started.body, response ?? undefined) ??
    (started.operation?.poll === poll ? undefined : 'the operation is not found')
  );
}

async function readPoll(arm: ArmClient, { response, status, url }: Exchange): Promise<string | undefined> {
  const {
    status: state,
    error,
    properties,
  } = (response ?? {}) as {
    readonly status?: string;
    readonly error?: { readonly code: string };
    readonly properties?: { readonly output?: unknown };
  };
  const operation = { poll: `${endpoint}${url}`, what: 'a recorded operation' };
  if (state === 'Failed') {
    const thrown = await arm.poll(operation, signal).catch((one: unknown) => one);
    const named = thrown instanceof ImagoError && thrown.details?.azureCode === error?.code;
    return named ? undefined : `the failure is not ${error?.code}`;
  }
  const read = await arm.poll(operation, signal);
  const isRunning = state === 'InProgress' || (state === undefined && status === 202);
  if ((read.state === 'running') !== isRunning) return `it is ${read.state}`;
  return read.state === 'done' && properties?.output !== undefined
    ? same(read.output, properties.output)
    : undefined;
}

function same(one: unknown, other: unknown): string | undefined {
  return JSON.stringify(one) === JSON.stringify(other) ? undefined : 'something of the reply is lost';
}

function readAddress(url: string): Address | undefined {
  const rest = /\/providers\/microsoft\.compute\/([^?]+)/i.exec(url)?.[1];
  const parts = rest?.split('/');
  if (parts === undefined) return undefined;
  return {
    type: parts.filter((_, index) => index % 2 === 0).join('/'),
    names: parts.filter((_, index) => index % 2 === 1),
  };
}
