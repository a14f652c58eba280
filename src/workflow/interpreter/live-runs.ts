// The runs of this process: how a cancel reaches a step in progress, and how callers that wait for an end are notified.
// The journal stays the truth; this only makes it fast.
export interface LiveRuns {
  /** Call it before the run's record is read, so that no cancel falls between the two. */
  begin(id: string): AbortSignal;
  /** Aborts the run's signal. Does nothing if this process does not run it. */
  cancel(id: string): void;
  end(id: string): void;
  /** Calls back once when the run ends in this process, unless the returned function is called first. */
  onEnd(id: string, listener: () => void): () => void;
}

export function createLiveRuns(): LiveRuns {
  const cancels = new Map<string, AbortController>();
  const listeners = new Map<string, Set<() => void>>();

  return {
    begin(id) {
      const controller = new AbortController();
      cancels.set(id, controller);
      return controller.signal;
    },
    cancel(id) {
      cancels.get(id)?.abort(new Error('The operation was cancelled.'));
    },
    end(id) {
      cancels.delete(id);
      const waiting = listeners.get(id) ?? [];
      listeners.delete(id);
      for (const listener of waiting) listener();
    },
    onEnd(id, listener) {
      const waiting = listeners.get(id) ?? new Set();
      listeners.set(id, waiting.add(listener));
      return () => {
        waiting.delete(listener);
        if (waiting.size === 0) listeners.delete(id);
      };
    },
  };
}
