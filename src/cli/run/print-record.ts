// Prints a record of a version: formatted to standard output, or byte for byte to a file.
import { buffer } from 'node:stream/consumers';
import type { InputOf } from '../../api/contract/types.ts';
import { findVersion } from '../input/find-version.ts';
import { writeAtomically } from '../output/write-atomically.ts';
import { argument, type Invocation, text } from '../spec/command.ts';

export type RecordKind = InputOf<'readRecord'>['path']['record'];

export async function printRecord(invocation: Invocation, record: RecordKind): Promise<void> {
  const client = await invocation.client();
  const path = { ...(await findVersion(client, argument(invocation, 'IMAGE'))), record };
  const { content } = await client.download('readRecord', { path }, { signal: invocation.signal });
  const file = text(invocation, 'file');
  if (file !== undefined) {
    const bytes = await writeAtomically(file, content, 0o644);
    invocation.out.thing({ file, bytes, record }, file, () => [`Wrote ${file}, ${bytes} bytes`]);
    return;
  }
  const printed = (await buffer(content)).toString('utf8');
  const readable = record === 'notes-markdown' ? printed : JSON.stringify(JSON.parse(printed), null, 2);
  process.stdout.write(readable.endsWith('\n') ? readable : `${readable}\n`);
}
