import { describe, expect, it, onTestFinished } from 'vitest';
import type { PreparationName } from './preparations.ts';
import { type PreparationOptions, startPreparations } from './run-preparations.ts';

function start(scripts: Partial<Record<PreparationName, string>>, options: Partial<PreparationOptions> = {}) {
  const lines: string[] = [];
  const preparing = startPreparations(Object.keys(scripts) as PreparationName[], {
    log: (line) => lines.push(line),
    command: (name) => ['sh', '-c', scripts[name] ?? ''],
    ...options,
  });
  onTestFinished(() => preparing.end());
  return { lines, preparing };
}

describe('preparations', () => {
  it('are waited for only by the suites that need them', async () => {
    const { preparing } = start({ 'build-cache': 'true', kubernetes: 'sleep 1000' });
    expect(await preparing.ready([])).toBeUndefined();
    expect(await preparing.ready(['build-cache'])).toBeUndefined();
  });

  it('report what they print, and how long they have taken so far', async () => {
    const { lines } = start({ kubernetes: 'echo compiling; sleep 1000' }, { reportEveryMs: 5 });
    await expect.poll(() => lines).toContain('[kubernetes] compiling');
    await expect.poll(() => lines.join('\n')).toMatch(/min so far, at most 120 min/);
  });

  it('that fail are named with their last lines and the command that repeats them', async () => {
    const { preparing } = start({ kubernetes: 'echo no compiler >&2; exit 3' });
    expect(await preparing.ready(['kubernetes'])).toMatch(
      /^preparing kubernetes failed: no compiler; .* node scripts\/prepare-tests\.ts kubernetes$/,
    );
  });

  it('that fail do not keep the next one from its turn', async () => {
    const { preparing } = start({ 'build-cache': 'exit 1', kubernetes: 'true' });
    expect(await preparing.ready(['kubernetes'])).toBeUndefined();
  });

  it('that take too long are stopped with everything they started', async () => {
    const { preparing } = start({ kubernetes: 'sleep 1000 & sleep 1000' }, { limitOf: () => 50 });
    expect(await preparing.ready(['kubernetes'])).toMatch(/took longer than/);
  });

  it('that have not started when the run ends are not started', async () => {
    const { preparing, lines } = start({ 'build-cache': 'sleep 1000', kubernetes: 'echo started' });
    await expect.poll(() => lines.length).toBeGreaterThan(0);
    preparing.end();
    expect(await preparing.ready(['kubernetes'])).toBe('kubernetes was not prepared');
  });
});
