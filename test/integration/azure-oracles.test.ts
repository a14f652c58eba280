// Replays recorded conversations with Azure to the emulator: status, headers and shape must be the same.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isObject, type Json, textAt } from '../../src/azure-emulator/arm/json.ts';
import { readAddress } from '../../src/azure-emulator/arm/resource-id.ts';
import { Emulator } from '../../src/azure-emulator/emulator.ts';
import { createVirtualClock } from '../support/sim/virtual-clock.ts';
import misses from './azure-oracles-misses.json' with { type: 'json' };

interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly request?: Json | null;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly response?: unknown;
}

const oracles = process.env.IMAGO_AZURE_ORACLES;
const claimed = /^(?:galleries(?:\/images(?:\/versions)?|\/share)?|locations\/capsoperations)$/;
/** Ids, times, and texts that follow from names. */
const opaque = /^(?:name|id|uniqueName|publicNames|publishedDate|startTime|endTime|message|nextLink)$/;
const operationId = /\/capsOperations\/([0-9a-f-]+)/i;

test.skipIf(oracles === undefined)(
  'recorded conversations with Azure have the same status, headers and shape',
  { timeout: 120_000 },
  async () => {
    const folder = join(oracles ?? '', 'conversations');
    const found: Record<string, string> = {};
    let total = 0;
    for (const file of readdirSync(folder).sort()) {
      const exchanges = readFileSync(join(folder, file), 'utf8').trim().split('\n');
      const differences = await replay(exchanges.map((line) => JSON.parse(line) as Exchange));
      for (const [index, difference] of differences) {
        total += 1;
        if (difference !== undefined) found[`${file}:${index + 1}`] = difference;
      }
    }
    expect(Object.keys(found).sort(), JSON.stringify(found, null, 1)).toEqual(Object.keys(misses).sort());
    console.log(`${total - Object.keys(found).length} of ${total} exchanges match`);
    expect(total).toBeGreaterThan(150);
    expect(Object.keys(found).length / total).toBeLessThan(0.1);
  },
);

/** Returns the difference of every exchange on a claimed route, by its line. */
async function replay(exchanges: readonly Exchange[]): Promise<Map<number, string | undefined>> {
  const clock = createVirtualClock();
  const emulator = new Emulator({ subscription: '0', anySubscription: true, clock });
  const token = emulator.token();
  const polls = new Map<string, string>();
  const differences = new Map<number, string | undefined>();
  for (const [index, exchange] of exchanges.entries()) {
    const url = new URL(exchange.url, 'https://127.0.0.1');
    if (!claimed.test(readAddress(url.pathname)?.type ?? '')) continue;
    const recorded = operationId.exec(url.pathname)?.[1] ?? '';
    url.pathname = url.pathname.replace(operationId, `/capsOperations/${polls.get(recorded) ?? recorded}`);
    if (textAt(exchange.response, 'status') === 'Succeeded') await clock.advance(6 * 3_600_000);
    const { method, request } = exchange;
    const reply = await emulator.handle({
      method,
      url,
      token,
      body: request ?? {},
      form: new URLSearchParams(),
    });
    const headers = new Headers(reply.headers);
    const [, was] = operationId.exec(exchange.headers['azure-asyncoperation'] ?? '') ?? [];
    const [, is] = operationId.exec(headers.get('azure-asyncoperation') ?? '') ?? [];
    if (was !== undefined && is !== undefined) polls.set(was, is);
    differences.set(
      index,
      reply.status === exchange.status
        ? (compareHeaders(exchange.headers, headers) ??
            compare(exchange.response ?? undefined, reply.body, ''))
        : `status ${reply.status}, not ${exchange.status}: ${JSON.stringify(reply.body)}`,
    );
  }
  await emulator.close();
  return differences;
}

function compareHeaders(recorded: Exchange['headers'], given: Headers): string | undefined {
  for (const name of ['azure-asyncoperation', 'location', 'azure-asyncnotification']) {
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
