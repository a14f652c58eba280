// A connection whose peer vanished silently would keep a query waiting for hours.
import type { Client } from 'pg';

/** Cuts the connection when the work on it takes too long; the work then fails. */
export async function cutAfter<T>(client: Client, ms: number, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => void client.end().catch(() => undefined), ms);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
