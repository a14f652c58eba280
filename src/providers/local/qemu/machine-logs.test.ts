import { appendFile, mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cutConsole, followLines, lastLines } from './console-log.ts';
import { type MachineFiles, machineFiles } from './paths.ts';
import { openReportLog } from './report-log.ts';

let folder: string;
let files: MachineFiles;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-logs-'));
  files = machineFiles(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the console', () => {
  it('has no lines before the first', async () => {
    expect(await lastLines(files, 10)).toEqual([]);
  });

  it('gives its last lines, without what would steer a terminal', async () => {
    await writeFile(
      files.console,
      'one\r\n\u001b[!p\u001b[1;31mtwo\u001b[0m\n\u001b]0;title\u0007three\u009b\n',
    );
    expect(await lastLines(files, 10)).toEqual(['one', 'two', 'three']);
    expect(await lastLines(files, 2)).toEqual(['two', 'three']);
  });

  it('is cut when it is too long, and its end is kept', async () => {
    await writeFile(files.console, 'one\ntwo\nthree\n');
    await cutConsole(files, 100);
    expect((await stat(files.console)).size).toBe(14);
    await cutConsole(files, 10);
    expect((await stat(files.console)).size).toBe(0);
    await appendFile(files.console, 'four\n');
    expect(await lastLines(files, 3)).toEqual(['two', 'three', 'four']);
  });

  it('is followed across a truncation, to the last line of the machine', async () => {
    await writeFile(files.console, 'before\n');
    let running = true;
    const lines = followLines(files, 1, new AbortController().signal, () => running);
    expect((await lines.next()).value).toBe('before');
    await appendFile(files.console, 'zwölf\nha');
    expect((await lines.next()).value).toBe('zwölf');
    await appendFile(files.console, 'lf\n');
    expect((await lines.next()).value).toBe('half');
    await writeFile(files.console, 'new\n');
    expect((await lines.next()).value).toBe('new');
    await appendFile(files.console, 'no line end');
    running = false;
    expect((await lines.next()).value).toBe('no line end');
    expect((await lines.next()).done).toBe(true);
  });

  it('returns a line without an end in parts, as it grows', async () => {
    const stop = new AbortController();
    await writeFile(files.console, '');
    const lines = followLines(files, 1, stop.signal, () => true);
    const first = lines.next();
    await appendFile(files.console, 'x'.repeat(100_000));
    expect((await first).value).toMatch(/^x{65536,}$/);
    stop.abort();
    await lines.return(undefined);
  });

  it('is no longer followed after the signal aborts', async () => {
    const leaving = new AbortController();
    const next = followLines(files, 1, leaving.signal, () => true).next();
    leaving.abort();
    expect((await next).done).toBe(true);
  });
});

describe('the reports', () => {
  const report = (phase: string, ms: number, bootId = 'b') =>
    `${JSON.stringify({
      ...{ schema: 1, phase, at: '2026-01-01T00:00:10.000Z', bootId, agentVersion: '1', steps: [] },
      ...{ timeline: [{ name: 'x', ms }], pending: [] },
    })}\n`;

  it('are reported as often as they arrive, complete lines only, ignoring noise', async () => {
    const log = openReportLog(files.report);
    expect(await log.read()).toBeUndefined();
    await writeFile(
      files.report,
      `noise\n{"schema":1}\n${report('applying', 1000)}${report('ready', 9000).slice(0, 20)}`,
    );
    expect(await log.read()).toMatchObject({ phase: 'applying' });
    expect(await log.read()).toBeUndefined();
    await appendFile(files.report, report('ready', 9000).slice(20));
    expect(await log.read()).toMatchObject({ phase: 'ready' });
    await appendFile(files.report, report('ready', 9000));
    expect(await log.read()).toMatchObject({ phase: 'ready' });
    expect(log.last).toMatchObject({ phase: 'ready', kernelAt: Date.parse('2026-01-01T00:00:01.000Z') });
  });

  it('know the start of the kernel by the report that tells most, of this boot', async () => {
    const log = openReportLog(files.report);
    await writeFile(files.report, report('ready', 9000) + report('applying', 1000));
    expect((await log.read())?.kernelAt).toBe(Date.parse('2026-01-01T00:00:01.000Z'));
    await appendFile(files.report, report('booting', 1000, 'c'));
    expect((await log.read())?.kernelAt).toBe(Date.parse('2026-01-01T00:00:09.000Z'));
  });

  it('are as old as the file, regardless of who reads them first', async () => {
    const said = new Date('2026-01-01T08:00:00.000Z');
    await writeFile(files.report, report('ready', 9000));
    await utimes(files.report, said, said);
    expect(await openReportLog(files.report).read()).toMatchObject({ receivedAt: said.toISOString() });
  });

  it('of before a restart are forgotten, also by who reads them later', async () => {
    const log = openReportLog(files.report);
    await writeFile(files.report, report('ready', 9000));
    await log.read();
    await appendFile(files.report, report('ready', 9000).slice(0, 20));
    await log.read();
    await log.clear();
    expect(log.last).toBeUndefined();
    expect(await openReportLog(files.report).read()).toBeUndefined();
    await appendFile(files.report, report('booting', 1000, 'c'));
    expect(await log.read()).toMatchObject({ phase: 'booting', document: { bootId: 'c' } });
  });

  it('do not fill the disk, and a line without end is given up', async () => {
    const log = openReportLog(files.report);
    await writeFile(files.report, report('ready', 1).repeat(8000));
    await log.read();
    expect((await stat(files.report)).size).toBe(0);
    expect(log.last?.phase).toBe('ready');
    await writeFile(files.report, 'x'.repeat(300_000));
    await log.read();
    await appendFile(files.report, `\n${report('failed', 1)}`);
    expect(await log.read()).toMatchObject({ phase: 'failed' });
  });
});
