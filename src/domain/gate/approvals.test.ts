// An approver is a person: how many people approved, whatever tokens they used.
import { expect, test } from 'vitest';
import { localOwner, type Requester } from '../access/roles.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { approvalsGate } from './approvals.ts';
import type { GateFacts } from './facts.ts';

let id = 0;

function approval(by: string, more: object = {}): Evidence {
  const details = { channel: 'production', role: 'publisher', ...more };
  id += 1;
  return { id, digest: 'd', kind: 'approval', passed: true, by, details } as unknown as Evidence;
}

function judge(requester: string | Requester, evidence: readonly Evidence[], count = 1) {
  const asked = typeof requester === 'string' ? { by: requester } : requester;
  const facts = { requester: asked, evidence, version: { digest: 'd' }, channel: { name: 'production' } };
  return approvalsGate.check({ count, role: 'publisher' } as never, facts as unknown as GateFacts).passed;
}

const socket = { osUser: 'root' };

test('a token that is used over the socket does not approve what local requested', () => {
  expect(judge(localOwner, [approval('ada', socket)])).toBe(false);
  expect(judge(localOwner, [approval('ada')])).toBe(true);
  expect(judge('bob', [approval('ada', socket)])).toBe(true);
});

test('two tokens of one OS user are one person, two tokens over the network are two', () => {
  expect(judge('cid', [approval('ada', socket), approval('bob', socket)], 2)).toBe(false);
  expect(judge('cid', [approval('ada', socket), approval('bob')], 2)).toBe(true);
  expect(judge('cid', [approval('ada'), approval('bob')], 2)).toBe(true);
  expect(judge('cid', [approval('ada'), approval('ada')], 2)).toBe(false);
});

test('one OS user does not approve with another token what it requested over the socket', () => {
  const bob = { by: 'bob', ...socket };
  expect(judge(bob, [approval('ada', socket)])).toBe(false);
  expect(judge(bob, [approval('ada', { osUser: 'eve' })])).toBe(true);
  expect(judge(bob, [approval('ada')])).toBe(true);
  expect(judge({ by: localOwner, ...socket }, [approval('ada', socket)])).toBe(false);
});

test('a token that was used over the socket once is that OS user everywhere', () => {
  expect(judge('cid', [approval('ada', socket), approval('ada')], 2)).toBe(false);
  expect(judge('cid', [approval('ada', socket), approval('ada'), approval('bob', socket)], 2)).toBe(false);
  expect(judge('ada', [approval('ada', socket), approval('bob', socket)])).toBe(false);
});
