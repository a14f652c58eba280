// Which state of an archive's index this machine has, and whether the archive still has the same: the signed
// InRelease files name everything else by hash, so nothing but these need be asked for.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toIso } from '../../domain/value/time.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import { readAddress } from '../../host/network/open-address.ts';

const patienceMs = 10_000;
const maxReleaseBytes = 16 * 1024 ** 2;

export interface IndexCheck {
  readonly now: number;
  readonly guard: AddressGuard;
  readonly signal?: AbortSignal | undefined;
}

/** The digest of the index in a folder of lists; undefined when there is none. */
export async function indexDigest(lists: string): Promise<string | undefined> {
  const texts = await releaseTexts(lists);
  return texts.length === 0 ? undefined : digestOf(texts);
}

/** When the archive signed the index in a folder of lists: that of its security updates, else the newest one. */
export async function indexDate(lists: string): Promise<string | undefined> {
  const dates = (await releaseTexts(lists)).flatMap((text) => {
    const at = Date.parse(/^Date: (.+)$/m.exec(text)?.[1] ?? '');
    return Number.isNaN(at) ? [] : [{ at, isSecurity: /^(?:Codename|Suite): .*-security$/m.test(text) }];
  });
  const security = dates.filter(({ isSecurity }) => isSecurity);
  const counted = (security.length > 0 ? security : dates).map(({ at }) => at);
  return counted.length === 0 ? undefined : toIso(new Date(Math.max(...counted)));
}

/**
 * Returns whether the archive has exactly the index that is in the directory, and it has not expired. False whenever that is
 * not sure: then apt must look, and say what is wrong.
 */
export async function isIndexCurrent(
  lists: string,
  releases: readonly string[],
  { now, guard, signal }: IndexCheck,
): Promise<boolean> {
  const here = await releaseTexts(lists);
  if (here.length !== releases.length || here.some((text) => expiryOf(text) <= now)) return false;
  try {
    const limit = AbortSignal.timeout(patienceMs);
    const either = signal === undefined ? limit : AbortSignal.any([limit, signal]);
    const options = { guard, signal: either, headers: {}, maxBytes: maxReleaseBytes };
    const there = await Promise.all(releases.map((address) => readAddress(address, options)));
    return digestOf(there) === digestOf(here);
  } catch {
    return false;
  }
}

async function releaseTexts(lists: string): Promise<readonly string[]> {
  const names = (await readdir(lists).catch(() => [])).filter((name) => name.endsWith('_InRelease'));
  return Promise.all(names.map((name) => readFile(join(lists, name), 'utf8')));
}

function expiryOf(text: string): number {
  const until = /^Valid-Until: (.+)$/m.exec(text)?.[1];
  if (until === undefined) return Number.POSITIVE_INFINITY;
  return Date.parse(until) || 0;
}

function digestOf(texts: readonly string[]): string {
  const hashes = texts.map((text) => createHash('sha256').update(text).digest('hex')).sort();
  return createHash('sha256').update(hashes.join('\n')).digest('hex').slice(0, 32);
}
