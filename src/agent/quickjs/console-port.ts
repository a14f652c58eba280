// Documents on the serial console, for machines without a port to their host. Others write there too, and the reader may
// be absent: nothing waits for a write.
import { type FrameKind, toFrames } from '../../domain/node/console-frame.ts';
import { encodeUtf8 } from '../system/utf8.ts';
import type { QuickJsModules } from './modules.ts';

/** Appends, never waits, and is never the console of the agent. */
const flags = 0o2000 | 0o4000 | 0o400;
/** A console keeps the last MiB or so, and a report has a few kilobytes. */
const repeatMs = 600_000;
const mostTries = 300;

export interface ConsolePort {
  /** Writes a report unless it is the last one; that one is repeated after ten minutes. Drops one that waits. */
  report(json: string): void;
  /** Writes the answer to a command after the report that is being written. */
  answer(json: string): void;
}

export function openConsolePort({ os }: QuickJsModules, path: string): ConsolePort {
  const waiting = new Map<FrameKind, string>();
  let last = '';
  let lastAt = 0;
  let writing = false;

  /** Opened for each document: a login that ends there hangs up every program that has it open. */
  function write(kind: FrameKind, json: string): void {
    const fd = os.open(path, os.O_WRONLY | flags);
    if (fd < 0) return;
    writing = true;
    let rest = encodeUtf8(`\n${toFrames(kind, json).join('\n')}\n`);
    let tries = 0;
    function pump(): void {
      const written = os.write(fd, rest.buffer, 0, rest.length);
      if (written > 0) rest = rest.slice(written);
      tries = written > 0 ? 0 : tries + 1;
      if (rest.length > 0 && tries < mostTries) {
        os.setTimeout(pump, 100);
        return;
      }
      os.close(fd);
      writing = false;
      const [next] = waiting;
      if (next === undefined) return;
      waiting.delete(next[0]);
      write(...next);
    }
    pump();
  }

  function send(kind: FrameKind, json: string): void {
    if (writing) waiting.set(kind, json);
    else write(kind, json);
  }

  return {
    report(json) {
      if (json === last && os.now() - lastAt < repeatMs) return;
      last = json;
      lastAt = os.now();
      send('report', json);
    },
    answer: (json) => send('answer', json),
  };
}
