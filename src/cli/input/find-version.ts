// The version that a reference names, as paths of the API want it.
import type { Client } from '../../api/client/client.ts';

export interface VersionPath {
  readonly image: string;
  readonly version: string;
}

export async function findVersion(client: Client, reference: string): Promise<VersionPath> {
  const { image, version } = await client.call('resolve', { query: { reference } });
  return { image, version };
}

/** For what is copied to others: a bare name is refused. */
export const exactArgument = {
  name: 'IMAGE',
  what: 'NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST',
  completes: 'image',
} as const;

export const imageArgument = {
  name: 'IMAGE',
  what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST',
  completes: 'image',
} as const;
