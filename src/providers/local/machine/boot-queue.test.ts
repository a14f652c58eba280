import { describe, expect, it } from 'vitest';
import { createBootQueue } from './boot-queue.ts';

describe('boots', () => {
  it('wait in line, and the first in line is next', () => {
    const turns: string[] = [];
    const queue = createBootQueue(
      () => 2,
      (id) => turns.push(id),
    );
    expect(['a', 'b', 'c', 'd'].map((id) => queue.enter(id))).toEqual([true, true, false, false]);
    queue.leave('a');
    expect(turns).toEqual(['c']);
    expect(queue.enter('c')).toBe(true);
    expect(queue.enter('d')).toBe(false);
  });

  it('one that is deleted while it waits is not called, and leaving twice frees one place', () => {
    const turns: string[] = [];
    const queue = createBootQueue(
      () => 1,
      (id) => turns.push(id),
    );
    queue.enter('a');
    queue.enter('b');
    queue.enter('c');
    queue.leave('b');
    expect(turns).toEqual([]);
    queue.leave('a');
    queue.leave('a');
    expect(new Set(turns)).toEqual(new Set(['c']));
    expect(queue.enter('c')).toBe(true);
    expect(queue.enter('d')).toBe(false);
  });

  it('one that gives up its turn passes it on', () => {
    const turns: string[] = [];
    const queue = createBootQueue(
      () => 1,
      (id) => turns.push(id),
    );
    for (const id of ['a', 'b', 'c']) queue.enter(id);
    queue.leave('a');
    queue.leave('b');
    expect(turns).toEqual(['b', 'c']);
  });

  it('one that boots already may go on', () => {
    const queue = createBootQueue(
      () => 1,
      () => undefined,
    );
    expect(queue.enter('a')).toBe(true);
    expect(queue.enter('a')).toBe(true);
  });
});
