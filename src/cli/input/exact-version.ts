// From what people write to one exact version. A version that is named by its number is found also when it was
// deleted: its record is kept.
import type { Client } from '../../api/client/client.ts';
import { parseReference } from '../../domain/image/reference.ts';

export async function exactVersion(
  client: Client,
  text: string,
): Promise<{ readonly image: string; readonly version: string }> {
  const reference = parseReference(text);
  if (reference.kind === 'version') return { image: reference.image, version: reference.version };
  const { image, version } = await client.call('resolve', { query: { reference: text } });
  return { image, version };
}
