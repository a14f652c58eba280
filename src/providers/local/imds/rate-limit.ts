// Limits the calls in any one second; a rejected call does not count.

/** Returns a function that returns whether a call at that time, in milliseconds that never go back, is allowed. */
export function createRateLimit(perSecond: number): (nowMs: number) => boolean {
  let recent: number[] = [];
  return (nowMs) => {
    recent = recent.filter((at) => nowMs - at < 1000);
    if (recent.length >= perSecond) return false;
    recent.push(nowMs);
    return true;
  };
}
