// Runs work on many items, a few at a time. The first failure stops further ones from being started.
export async function mapLimit<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  let failed = false;
  const worker = async () => {
    while (next < items.length && !failed) {
      const number = next++;
      try {
        results[number] = await work(items[number] as T);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker);
  const settled = await Promise.allSettled(workers);
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
  return results;
}
