// Shows the progress of long work: a bar on a terminal, plain lines otherwise.
import type { Output } from './output.ts';

export interface ProgressView {
  /** Shows the progress. Prints nothing if nothing visible changed. */
  update(step: string, done: number | undefined, total: number | undefined, message: string): void;
  /** Prints a permanent line above the bar, such as a finished step. */
  line(text: string): void;
  /** Removes the bar. */
  end(): void;
}

const barWidth = 24;
const redrawMs = 100;

export function createProgress(out: Output, err: NodeJS.WriteStream, now: () => number): ProgressView {
  if (out.quiet) return { update() {}, line() {}, end() {} };
  return out.interactive ? barView(out, err, now) : lineView(out);
}

function barView(out: Output, err: NodeJS.WriteStream, now: () => number): ProgressView {
  let drawnAt = 0;
  let shown = '';
  const clear = () => shown !== '' && err.write('\r\u001b[2K');
  return {
    update(step, done, total, message) {
      const next = bar(out, step, done, total, message, err.columns ?? 80);
      if (next === shown || now() - drawnAt < redrawMs) return;
      clear();
      err.write(next);
      shown = next;
      drawnAt = now();
    },
    line(text) {
      clear();
      shown = '';
      err.write(`${text}\n`);
    },
    end() {
      clear();
      shown = '';
    },
  };
}

function bar(
  out: Output,
  step: string,
  done: number | undefined,
  total: number | undefined,
  message: string,
  columns: number,
): string {
  const share = done !== undefined && total ? Math.min(1, done / total) : undefined;
  const filled = share === undefined ? 0 : Math.round(share * barWidth);
  const picture =
    share === undefined
      ? ''
      : `${'━'.repeat(filled)}${'┄'.repeat(barWidth - filled)} ${String(Math.round(share * 100)).padStart(3)} % `;
  const text = `${step}  ${picture}${message}`;
  const room = Math.max(20, columns - 1);
  const cut = text.length > room ? `${text.slice(0, room - 1)}…` : text;
  return cut.replace(step, out.style.bold(step));
}

/** Prints a line for each new message; a changed number is not new. */
function lineView(out: Output): ProgressView {
  let last = '';
  return {
    update(step, _done, _total, message) {
      const pattern = message.replace(/\d+(\.\d+)?/g, '#');
      if (message === '' || pattern === last) return;
      last = pattern;
      out.note(`${step}: ${message}`);
    },
    line: (text) => out.note(text),
    end() {},
  };
}
