import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { feedProcess } from './feed-process.ts';

function start(program: string, ...args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  return { child, printed: text(child.stdout) };
}

describe('what a program is fed with', () => {
  it('arrives whole when the source uses one piece of memory for all', async () => {
    const size = 300_000;
    const piece = Buffer.alloc(size);
    async function* source() {
      for (let n = 0; n < 20; n += 1) yield piece.fill(n);
    }
    const expected = Buffer.concat(Array.from({ length: 20 }, (_, n) => Buffer.alloc(size, n)));
    const { child, printed } = start('sha256sum');
    expect(await feedProcess(source(), child.stdin, () => undefined)).toBeUndefined();
    expect(await printed).toContain(hash('sha256', expected));
  });

  it('is released chunk by chunk', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const pieces: WeakRef<Buffer>[] = [];
    async function* source() {
      for (let n = 0; n < 20; n += 1) {
        const piece = Buffer.alloc(100_000);
        pieces.push(new WeakRef(piece));
        yield piece;
      }
      const held = () => {
        collect();
        return pieces.filter((piece) => piece.deref() !== undefined).length;
      };
      await expect.poll(held).toBeLessThan(5);
    }
    const { child } = start('sha256sum');
    expect(await feedProcess(source(), child.stdin, () => child.kill('SIGKILL'))).toBeUndefined();
  });

  it('is not waited for when the program has ended', async () => {
    async function* source() {
      yield Buffer.alloc(200_000);
      yield Buffer.alloc(200_000);
      await new Promise(() => undefined);
    }
    const { child } = start('true');
    const giveUp = vi.fn();
    expect(await feedProcess(source(), child.stdin, giveUp)).toBeUndefined();
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('that fails is reported, together with the process', async () => {
    async function* source() {
      yield Buffer.from('begun');
      throw new Error('no more');
    }
    const { child, printed } = start('cat');
    const fault = await feedProcess(source(), child.stdin, () => child.kill('SIGKILL'));
    expect(fault).toMatchObject({ message: 'no more' });
    await printed;
    expect(child.signalCode ?? child.killed).toBeTruthy();
  });
});
