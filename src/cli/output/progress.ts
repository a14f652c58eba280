// Progress of long work: a bar that redraws itself on a terminal, plain lines otherwise.
import type { Output } from './output.ts';

export interface ProgressView {
  /** Shows where the work is. Calls that change nothing to see print nothing. */
  update(step: string, done: number | undefined, total: number | undefined, sentence: string): void;
  /** A lasting line above the bar: a finished step, a log line. */
  line(text: string): void;
  /** Takes the bar away. */
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
    update(step, done, total, sentence) {
      const next = bar(out, step, done, total, sentence, err.columns ?? 80);
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
  sentence: string,
  columns: number,
): string {
  const share = done !== undefined && total ? Math.min(1, done / total) : undefined;
  const filled = share === undefined ? 0 : Math.round(share * barWidth);
  const picture =
    share === undefined
      ? ''
      : `${'━'.repeat(filled)}${'┄'.repeat(barWidth - filled)} ${String(Math.round(share * 100)).padStart(3)} % `;
  const text = `${step}  ${picture}${sentence}`;
  const room = Math.max(20, columns - 1);
  const cut = text.length > room ? `${text.slice(0, room - 1)}…` : text;
  return cut.replace(step, out.style.bold(step));
}

/** One line each time the sentence says something new; counting alone is not new. */
function lineView(out: Output): ProgressView {
  let last = '';
  return {
    update(step, _done, _total, sentence) {
      const gist = sentence.replace(/\d+(\.\d+)?/g, '#');
      if (sentence === '' || gist === last) return;
      last = gist;
      out.note(`${step}: ${sentence}`);
    },
    line: (text) => out.note(text),
    end() {},
  };
}
