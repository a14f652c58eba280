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

/** Throws `operation-busy` if an operation with the key waits for this child's parent: both would wait forever. */
export async function refuseDeadlock(
  key: string,
  parent: string,
  journal: Pick<Journal, 'isAwaitedUnder'>,
): Promise<void> {
  if (!(await journal.isAwaitedUnder(key, parent))) return;
  throw new ImagoError('operation-busy', `${key} is held by an operation that waits for ${parent}.`, {
    hint: 'Cancel one of the two.',
  });
}
