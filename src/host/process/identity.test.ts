import { describe, expect, it } from 'vitest';
import { identifyProcess, isProcessIdentity, isSameProcess, signalProcess, waitForExit } from './identity.ts';

function ourselves() {
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error('this process is not in /proc');
  return self;
}

describe('a recorded process', () => {
  it('is recognized as long as it runs', () => {
    expect(isSameProcess(ourselves())).toBe(true);
  });

  it('is not mistaken for another one that has its pid by now', () => {
    const self = ourselves();
    expect(isSameProcess({ ...self, startTicks: self.startTicks - 1 })).toBe(false);
  });

  it('is not mistaken for one of the same pid before the machine was restarted', () => {
    expect(isSameProcess({ ...ourselves(), boot: 'another' })).toBe(false);
  });

  it('is never signalled when its pid belongs to another process', () => {
    const self = ourselves();
    expect(signalProcess({ ...self, startTicks: self.startTicks - 1 }, 'SIGKILL')).toBe(false);
  });

  it('counts as exited if no process has its pid', async () => {
    const gone = { ...ourselves(), pid: 2 ** 22 + 1 };
    expect(identifyProcess(gone.pid)).toBeUndefined();
    expect(await waitForExit(gone, 0)).toBe(true);
  });

  it('is waited for no longer than asked', async () => {
    expect(await waitForExit(ourselves(), 1)).toBe(false);
  });
});

describe('a record of a process', () => {
  it.each([
    [{ pid: 0, startTicks: 1, boot: 'b' }],
    [{ pid: 1, startTicks: 1, boot: 'b' }],
    [{ pid: -5, startTicks: 1, boot: 'b' }],
    [{ pid: '7', startTicks: 1, boot: 'b' }],
    [{ pid: 7, boot: 'b' }],
    [null],
    ['7'],
  ])('that could hit init, a process group or no process is refused: %j', (value) => {
    expect(isProcessIdentity(value)).toBe(false);
  });
});
