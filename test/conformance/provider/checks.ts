// What the rules check with.
import { expect } from 'vitest';
import type { ErrorCode, ErrorKind } from '../../../src/domain/error/catalog.ts';
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import type { Page, PageQuery } from '../../../src/ports/page.ts';

/** Every item of a paged list. */
export async function everything<T>(
  list: (query: PageQuery) => Promise<Page<T>>,
  limit = 100,
): Promise<readonly T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor === undefined ? { limit } : { limit, cursor });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return items;
}

/** The refusal, which must be one of ours with that code. */
export async function refusal(call: Promise<unknown>, code: ErrorCode): Promise<ImagoError> {
  const error = await thrown(call);
  expect.soft(`${error.code}: ${error.message}`).toMatch(new RegExp(`^${code}:`));
  return error;
}

/** The refusal, where several codes of one kind will do. */
export async function refusalOfKind(call: Promise<unknown>, kind: ErrorKind): Promise<ImagoError> {
  const error = await thrown(call);
  expect.soft(`${error.kind}: ${error.message}`).toMatch(new RegExp(`^${kind}:`));
  return error;
}

async function thrown(call: Promise<unknown>): Promise<ImagoError> {
  const error = await call.then(
    (value) => new Error(`It was not refused, and answered ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  );
  if (error instanceof ImagoError) return error;
  throw error;
}
