import { describe, expect, it } from 'vitest';
import { freeMb, type MemoryGauge, requireMemory, systemGauge } from './memory.ts';

function gauge(availableMb: number, resident: Readonly<Record<number, number>> = {}): MemoryGauge {
  return { availableMb: () => availableMb, residentMb: (pid) => resident[pid] ?? 0 };
}

describe('memory for machines', () => {
  it('what a machine was promised and has not taken yet is not free', () => {
    const claims = [
      { memoryMb: 1000, pid: 7 },
      { memoryMb: 500, pid: undefined },
    ];
    expect(freeMb(gauge(4000, { 7: 400 }), claims)).toBe(4000 - 600 - 500 - 256);
  });

  it('a process that holds more than its machine has takes nothing from others twice', () => {
    expect(freeMb(gauge(1000, { 7: 900 }), [{ memoryMb: 500, pid: 7 }])).toBe(744);
  });

  it('is refused before anything starts, with what is free and what is needed', () => {
    const refuse = () => requireMemory(gauge(2000), [], { count: 2, memoryMb: 1024 });
    expect(refuse).toThrow(
      expect.objectContaining({
        code: 'machine-memory-short',
        message: '2 machines need 2048 MB of memory, and 1744 MB are free on this host.',
        details: { neededMb: 2048, freeMb: 1744 },
      }),
    );
    expect(() => requireMemory(gauge(2000), [], { count: 1, memoryMb: 1744 })).not.toThrow();
  });

  it('reads this host', () => {
    expect(systemGauge.availableMb()).toBeGreaterThan(1);
    expect(systemGauge.residentMb(process.pid)).toBeGreaterThan(1);
    expect(systemGauge.residentMb(2 ** 30)).toBe(0);
  });
});
