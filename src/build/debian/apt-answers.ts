// What apt answered before: for the same index, question and installed packages it answers the same, and takes a
// second to. Kept for one state of the index; those of earlier ones are dropped.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface AptAnswers {
  /** The answer that is known, or the one that `ask` gives. An error is not kept. */
  answer(question: readonly string[], ask: () => Promise<string>): Promise<string>;
}

export async function aptAnswers(folder: string, index: string): Promise<AptAnswers> {
  const own = join(folder, index);
  for (const name of await readdir(folder).catch(() => [])) {
    if (name !== index) await rm(join(folder, name), { recursive: true, force: true });
  }
  await mkdir(own, { recursive: true });
  return {
    async answer(question, ask) {
      const path = join(own, createHash('sha256').update(JSON.stringify(question)).digest('hex'));
      const known = parse(await readFile(path, 'utf8').catch(() => ''));
      if (known !== undefined) return known;
      const fresh = await ask();
      await writeFile(`${path}.${process.pid}`, `${digestOf(fresh)}\n${fresh}`);
      await rename(`${path}.${process.pid}`, path);
      return fresh;
    },
  };
}

/** One that was damaged is none. */
function parse(text: string): string | undefined {
  const at = text.indexOf('\n');
  const answer = text.slice(at + 1);
  return at > 0 && text.slice(0, at) === digestOf(answer) ? answer : undefined;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
