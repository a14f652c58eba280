// Hears that events were added, by any process, over a connection of its own. A notice can be lost with its
// connection: after each new one listeners are called anyway, and periodically it checks whether there are events
// without a notice.
import type { Client } from 'pg';
import { connectClient } from './connection.ts';
import { cutAfter } from './connection-timeout.ts';

export interface Listening {
  /** As in `Events`. A listener may be called when there is nothing new. */
  onAdded(listener: () => void): () => void;
  close(): Promise<void>;
}

const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** How often a quiet connection is asked whether it lives, and for the last event. */
const usualCheckMs = 10_000;
const checkDeadlineMs = 5_000;

/** Connects when the first listener comes and lets go when the last one leaves. */
export function listenForEvents(url: string, { checkMs = usualCheckMs } = {}): Listening {
  const listeners = new Set<() => void>();
  let running: { readonly stop: () => Promise<void> } | undefined;

  function tellAll(): void {
    for (const listener of [...listeners]) listener();
  }

  return {
    onAdded(listener) {
      const own = () => listener();
      listeners.add(own);
      running ??= keepListening(url, checkMs, tellAll);
      return () => {
        listeners.delete(own);
        if (listeners.size > 0) return;
        void running?.stop();
        running = undefined;
      };
    },
    async close() {
      listeners.clear();
      const ending = running;
      running = undefined;
      await ending?.stop();
    },
  };
}

/** The last event that readers see. */
async function lastEvent(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ id: number }>('select imago.settled_events() as id');
  return rows[0]?.id;
}

function keepListening(
  url: string,
  checkMs: number,
  tellAll: () => void,
): { readonly stop: () => Promise<void> } {
  let stopped = false;
  let wake = () => {};

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Returns when it must stop, throws when the connection breaks. */
  async function listen(): Promise<void> {
    const client = await connectClient(url);
    let broken = false;
    function onBroken(): void {
      broken = true;
      wake();
    }
    client.on('error', onBroken);
    client.on('end', onBroken);
    client.on('notification', tellAll);
    try {
      let last = await cutAfter(client, checkDeadlineMs, () => lastEvent(client));
      if (!stopped) await client.query('listen imago_events');
      tellAll();
      while (!stopped && !broken) {
        await pause(checkMs);
        if (stopped || broken) return;
        const found = await cutAfter(client, checkDeadlineMs, () => lastEvent(client));
        if (found !== last) tellAll();
        last = found;
      }
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!stopped) {
      const began = performance.now();
      await listen().catch(() => undefined);
      if (performance.now() - began > longestPauseMs) pauseMs = firstPauseMs;
      if (!stopped) await pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  const done = run();
  return {
    async stop() {
      stopped = true;
      wake();
      await done;
    },
  };
}
