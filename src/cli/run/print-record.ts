// A record of a version: to standard output, where JSON is made readable, or byte for byte to a file.
import { buffer } from 'node:stream/consumers';
import type { InputOf } from '../../api/contract/types.ts';
import { findVersion } from '../input/find-version.ts';
import { writeBeside } from '../output/write-atomically.ts';
import { argument, type FlagSpec, type Invocation, text } from '../spec/command.ts';

export type RecordKind = InputOf<'readRecord'>['path']['record'];

export const fileFlag = {
  file: {
    what: 'write it to a file instead, byte for byte as it is attached',
    value: 'FILE',
    completes: 'file',
  },
} as const satisfies Record<string, FlagSpec>;

export async function printRecord(invocation: Invocation, record: RecordKind): Promise<void> {
  const client = await invocation.client();
  const path = { ...(await findVersion(client, argument(invocation, 'IMAGE'))), record };
  const { content } = await client.download('readRecord', { path }, { signal: invocation.signal });
  const file = text(invocation, 'file');
  if (file !== undefined) {
    const bytes = await writeBeside(file, content, 0o644);
    invocation.out.thing({ file, bytes, record }, file, () => [`Wrote ${file}, ${bytes} bytes`]);
    return;
  }
  const whole = (await buffer(content)).toString('utf8');
  const readable = record === 'notes-markdown' ? whole : JSON.stringify(JSON.parse(whole), null, 2);
  process.stdout.write(readable.endsWith('\n') ? readable : `${readable}\n`);
}
