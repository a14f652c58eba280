// How far the downloads of a recipe are while it is locked: its parts make the bar, and what has come of a part's
// bytes counts as much of it.
import { formatBytes } from '../../domain/value/bytes.ts';

export type TellProgress = (done: number, total: number, sentence: string) => void;

export interface DownloadProgress {
  /** Reports the number of resolved parts. */
  parts(done: number, total: number, sentence: string): void;
  /** Reports the received bytes of one input, and its size if it is known. */
  bytes(label: string, bytes: number, total: number | undefined): void;
}

const partUnits = 1000;
/** Downloads come in small chunks, and not each of them is reported. */
const tellEveryMs = 500;

export function downloadProgress(tell: TellProgress, now: () => number): DownloadProgress {
  const shares = new Map<string, number>();
  let resolved = 0;
  let all = 1;
  let highest = 0;
  let toldAt = Number.NEGATIVE_INFINITY;

  function say(sentence: string): void {
    const coming = [...shares.values()].reduce((sum, share) => sum + share, 0);
    highest = Math.max(highest, Math.min(resolved + coming, all));
    tell(Math.round(highest * partUnits), all * partUnits, sentence);
  }

  return {
    parts(done, total, sentence) {
      resolved = done;
      all = total;
      say(sentence);
    },
    bytes(label, bytes, total) {
      if (total !== undefined && bytes >= total) shares.delete(label);
      else if (total !== undefined) shares.set(label, bytes / total);
      if (now() - toldAt < tellEveryMs) return;
      toldAt = now();
      const size = total === undefined ? '' : ` of ${formatBytes(total)}`;
      say(
        `fetching ${label.replace(/^(?:The|A) /, (word) => word.toLowerCase())}: ${formatBytes(bytes)}${size}`,
      );
    },
  };
}
