// Paging flags of lists.
import { type FlagSpec, type Invocation, text } from './command.ts';
import { usage } from './parse.ts';

export const pageFlags = {
  limit: { what: 'how many at most (default: 100)', value: 'N' },
  cursor: { what: 'go on where the list before ended', value: 'CURSOR' },
} as const satisfies Record<string, FlagSpec>;

export function pageQuery(invocation: Invocation): { readonly limit?: number; readonly cursor?: string } {
  const limit = text(invocation, 'limit');
  const cursor = text(invocation, 'cursor');
  if (limit !== undefined && !/^[1-9]\d{0,3}$/.test(limit)) {
    throw usage(`--limit is a whole number from 1 to 1000, not ${JSON.stringify(limit)}.`, 'COMMAND');
  }
  return {
    ...(limit === undefined ? {} : { limit: Number(limit) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}
