// The in-memory engine, under the suite that all engines pass.
import { createMemoryEngine, type MemoryEngine } from '../../support/engine/memory-engine.ts';
import { createMemoryEngineState } from '../../support/engine/memory-engine-state.ts';
import { createVirtualClock } from '../../support/engine/virtual-clock.ts';
import { describeEngine } from './engine-suite.ts';

describeEngine('in memory', async () => {
  const state = createMemoryEngineState();
  const clock = createVirtualClock();
  const engines = new Set<MemoryEngine>();
  return {
    async open() {
      const engine = createMemoryEngine({ state, clock });
      engines.add(engine);
      return engine;
    },
    async crash(engine) {
      for (const one of engines) if (one === engine) one.kill();
    },
    pass: (ms) => clock.advance(ms),
    now: () => clock.now(),
    async close() {
      engines.clear();
    },
  };
});
