import { describe, expect, it } from 'vitest';
import { createKeyGate } from './key-queue.ts';

async function entered(promise: Promise<void>): Promise<boolean> {
  return Promise.race([
    promise.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(resolve, false)),
  ]);
}

describe('key gate', () => {
  it('lets one in at a time, in the order of their places', async () => {
    const gate = createKeyGate();
    const [a, b, c] = ['a', 'b', 'c'].map((id) => gate.enter('key', id));
    expect(await entered(a ?? Promise.reject())).toBe(true);
    expect(await entered(b ?? Promise.reject())).toBe(false);
    gate.leave('key', 'a');
    expect(await entered(b ?? Promise.reject())).toBe(true);
    expect(await entered(c ?? Promise.reject())).toBe(false);
    gate.leave('key', 'b');
    expect(await entered(c ?? Promise.reject())).toBe(true);
  });

  it('keeps a place that was reserved, though another comes first', async () => {
    const gate = createKeyGate();
    gate.reserve('key', 'old');
    const late = gate.enter('key', 'new');
    expect(await entered(late)).toBe(false);
    expect(await entered(gate.enter('key', 'old'))).toBe(true);
    gate.leave('key', 'old');
    expect(await entered(late)).toBe(true);
  });

  it('closes the gap when one in the middle leaves or passes', async () => {
    const gate = createKeyGate();
    await gate.enter('key', 'a');
    const b = gate.enter('key', 'b');
    const c = gate.enter('key', 'c');
    gate.letPass('b');
    expect(await entered(b)).toBe(true);
    gate.leave('key', 'b');
    expect(await entered(c)).toBe(false);
    gate.leave('key', 'a');
    expect(await entered(c)).toBe(true);
  });

  it('knows nothing of one key when it is asked for another', async () => {
    const gate = createKeyGate();
    await gate.enter('one', 'a');
    expect(await entered(gate.enter('two', 'b'))).toBe(true);
    gate.leave('three', 'nobody');
    gate.letPass('nobody');
  });
});
