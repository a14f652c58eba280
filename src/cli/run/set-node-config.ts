// Sends a config or a hotfix to a pool or to one node: the name says which.
import type { InputOf } from '../../api/contract/types.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Invocation } from '../spec/command.ts';
import { runOperation } from './run-operation.ts';

type Body = InputOf<'setPoolConfig'>['body'];

export async function setNodeConfig(invocation: Invocation, target: string, body: Body): Promise<void> {
  const lines = (result: Record<string, unknown>) => describe(target, result);
  const name = () => target;
  if (await isPool(invocation, target)) {
    await runOperation(invocation, {
      endpoint: 'setPoolConfig',
      input: { path: { pool: target }, body },
      lines,
      name,
    });
  } else {
    await runOperation(invocation, {
      endpoint: 'setNodeConfig',
      input: { path: { node: target }, body },
      lines,
      name,
    });
  }
}

async function isPool(invocation: Invocation, name: string): Promise<boolean> {
  const client = await invocation.client();
  try {
    await client.call('showPool', { path: { pool: name } });
    return true;
  } catch (thrown) {
    if (ensureImagoError(thrown).code !== 'pool-not-found') throw thrown;
  }
  try {
    await client.call('showNode', { path: { node: name } });
    return false;
  } catch (thrown) {
    if (ensureImagoError(thrown).code !== 'node-not-found') throw thrown;
    throw new ImagoError('pool-not-found', `There is no pool and no node ${name}.`, {
      hint: 'See `imago pool list` and `imago node list`.',
    });
  }
}

interface WaitingNode {
  readonly node: string;
  readonly for: string;
  readonly pending: readonly { readonly sentence: string; readonly cost: string }[];
}

function describe(target: string, result: Record<string, unknown>): readonly string[] {
  const { nodes, applied, stopped, waiting } = result;
  const waitingNodes = (result.waitingNodes ?? []) as readonly WaitingNode[];
  return [
    `${target}: ${applied} of ${nodes} nodes have the config`,
    ...(stopped === 0 ? [] : [`${stopped} are stopped and read it when they start`]),
    ...(waiting === 0 ? [] : [`${waiting} wait and go on with what they had:`]),
    ...waitingNodes.map(({ node, for: what, pending }) => {
      const why = pending.filter(({ cost }) => cost === what).map(({ sentence }) => sentence);
      return `  ${node}, for ${waitsFor[what] ?? what}: ${why.join('; ')}`;
    }),
  ];
}

const waitsFor: Readonly<Record<string, string>> = {
  restart: 'leave to restart services',
  drain: 'a drain',
  reimage: 'a new disk',
};
