// Scales the time limits of tests by the speed of this host, which is measured once before the first test: emulated
// hosts and busy ones differ by a factor of three and more. A limit only ends what hangs; it is never what a test shows.

/** What one round takes on the reference host, a 2-core VM of 2026 with nothing else running. */
const referenceMs = 50;
const maxFactor = 10;

/** Returns how many times slower than the reference this host is now, from 1 to 10. */
export function measureSpeed(round: () => number = timeRound): number {
  const [, median = referenceMs] = [round(), round(), round()].toSorted((a, b) => a - b);
  return Math.round(Math.min(maxFactor, Math.max(1, median / referenceMs)) * 10) / 10;
}

function timeRound(): number {
  const start = performance.now();
  const words = new Map<string, number>();
  for (let index = 0; index < 150_000; index += 1) {
    const key = `word ${(index * 7919) % 10_007}`;
    words.set(key, (words.get(key) ?? 0) + 1);
  }
  JSON.parse(JSON.stringify([...words]));
  return performance.now() - start;
}

/** Measures unless a parent process has: what it starts inherits the factor by its environment. */
export function shareSpeed(env: NodeJS.ProcessEnv = process.env): number {
  env.IMAGO_TEST_SPEED ??= String(measureSpeed());
  return Number(env.IMAGO_TEST_SPEED);
}

/** Returns the limit for this host. */
export function patience(ms: number, env: NodeJS.ProcessEnv = process.env): number {
  const factor = Number(env.IMAGO_TEST_SPEED ?? 1);
  return Math.ceil(ms * (factor >= 1 && factor <= maxFactor ? factor : 1));
}
