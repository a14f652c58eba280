// Limits the number of open event streams, because each needs memory and queries.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Limits } from './limits.ts';

export interface StreamSlots {
  /** Takes a slot, and returns a function that releases it. Throws `api-streams-limited`. */
  take(who: string): () => void;
  readonly open: number;
}

export function createStreamSlots(limits: Pick<Limits, 'streams' | 'streamsEach'>): StreamSlots {
  const byCaller = new Map<string, number>();
  let open = 0;
  return {
    take(who) {
      const own = byCaller.get(who) ?? 0;
      if (own >= limits.streamsEach || open >= limits.streams) {
        const whose = own >= limits.streamsEach ? `${who} has` : 'All callers together have';
        throw new ImagoError('api-streams-limited', `${whose} too many event streams open.`, {
          details: { retryAfterMs: 5000 },
          retryable: true,
        });
      }
      byCaller.set(who, own + 1);
      open += 1;
      let given = false;
      return () => {
        if (given) return;
        given = true;
        open -= 1;
        const left = (byCaller.get(who) ?? 1) - 1;
        if (left === 0) byCaller.delete(who);
        else byCaller.set(who, left);
      };
    },
    get open() {
      return open;
    },
  };
}
