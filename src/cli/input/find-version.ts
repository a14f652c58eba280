// Finds the exact version that an argument names.
import type { Client } from '../../api/client/client.ts';
import { parseReference } from '../../domain/image/reference.ts';
import type { ArgumentSpec, Invocation } from '../spec/command.ts';

export interface VersionPath {
  readonly image: string;
  readonly version: string;
}

export const referenceDescription = 'NAME, NAME:VERSION, NAME:CHANNEL, or NAME@sha256:DIGEST';
export const exactDescription = 'NAME:VERSION, NAME:CHANNEL, or NAME@sha256:DIGEST';

export async function findVersion(client: Client, reference: string): Promise<VersionPath> {
  const { image, version } = await client.call('resolve', { query: { reference } });
  return { image, version };
}

/** Does not resolve a version number, so that the record of a deleted version is found too. */
async function findRecord(client: Client, reference: string): Promise<VersionPath> {
  const parsed = parseReference(reference);
  if (parsed.kind !== 'version') return findVersion(client, reference);
  return { image: parsed.image, version: parsed.version };
}

/** A version, as the fields `image` and `version`. */
export const versionArgument = {
  name: 'IMAGE',
  description: referenceDescription,
  completes: 'image',
  expand: async (word: string, { client }: Invocation) => ({ ...(await findVersion(await client(), word)) }),
} as const satisfies ArgumentSpec;

/** A version that can be deleted. */
export const recordArgument: ArgumentSpec = {
  ...versionArgument,
  expand: async (word, { client }) => ({ ...(await findRecord(await client(), word)) }),
};

/** A version that the daemon resolves, as the field `reference`. */
export const referenceArgument: ArgumentSpec = {
  name: 'IMAGE',
  description: referenceDescription,
  completes: 'image',
  field: 'reference',
};

/** The same, without a bare name: for commands that copy or move a version. */
export const exactArgument: ArgumentSpec = { ...referenceArgument, description: exactDescription };
