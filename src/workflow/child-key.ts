// Keys of operations that run inside others: a child never waits for what its own parents hold.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Journal, OperationRecord, OperationRequest } from '../ports/workflow/operation.ts';

/**
 * The key to run under. A child that asks for the key of one of its parents works under that parent's hold, and
 * gets a key of its own: its parent waits for it, so nothing else can run at the same time.
 */
export async function keyUnder(
  request: Pick<OperationRequest, 'subject' | 'parent'> & { readonly key?: string | undefined },
  id: string,
  journal: Pick<Journal, 'get'>,
): Promise<string> {
  const key = request.key ?? request.subject;
  for (let parent = request.parent; parent !== undefined; ) {
    const record: OperationRecord | undefined = await journal.get(parent);
    if (record?.key === key) return `${key}${under(id)}`;
    parent = record?.parent;
  }
  return key;
}

/** The key that was asked for, whoever held it then. */
export function askedKey({ id, key }: Pick<OperationRecord, 'id' | 'key'>): string {
  return key.endsWith(under(id)) ? key.slice(0, -under(id).length) : key;
}

function under(id: string): string {
  return ` under ${id}`;
}

/** Throws `operation-busy` when whoever holds the key waits, however indirectly, for this child's parent. */
export async function freeOfItself(
  key: string,
  parent: string,
  journal: Pick<Journal, 'live'>,
): Promise<void> {
  const live = await journal.live();
  const waitsFor = (record: OperationRecord): readonly OperationRecord[] => [
    ...live.filter((other) => other.parent === record.id),
    ...live.filter(
      (other) => record.state === 'queued' && other.key === record.key && other.id !== record.id,
    ),
  ];
  const holders = live.filter((record) => record.key === key);
  const seen = new Set<string>();
  for (const open = [...holders]; open.length > 0; ) {
    const record = open.pop();
    if (record === undefined || seen.has(record.id)) continue;
    seen.add(record.id);
    if (record.id === parent) {
      throw new ImagoError('operation-busy', `${key} is held by an operation that waits for ${parent}.`, {
        hint: 'Cancel one of the two.',
      });
    }
    open.push(...waitsFor(record));
  }
}
