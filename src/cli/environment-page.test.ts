// docs/environment.md names every variable that a person can set, and no other.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** Variables by which the parts of Imago talk to each other. */
const internal = new Set([
  ...['IMAGO_BACKGROUND', 'IMAGO_MESSAGE_FD', 'IMAGO_RESTARTS', 'IMAGO_SOAK'],
  ...['IMAGO_AGENT_ROOT', 'IMAGO_CONSOLE', 'IMAGO_COMMAND_PORT', 'IMAGO_REPORT_PORT'],
  ...['IMAGO_METADATA_URL', 'IMAGO_WIRE_SERVER_URL'],
  // Names in builds, on nodes, and in generated files.
  ...['IMAGO_INPUTS', 'IMAGO_KUBELET_FLAGS'],
]);

const root = resolve(import.meta.dirname, '../..');

function namesIn(text: string): readonly string[] {
  return text.match(/\bIMAGO_[A-Z_]+\b/g) ?? [];
}

test('the page of environment variables is complete', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  const used = sources.flatMap((file) => namesIn(readFileSync(join(root, 'src', file), 'utf8')));
  const wanted = new Set(used.filter((name) => !internal.has(name)));
  const documented = new Set(namesIn(readFileSync(join(root, 'docs/environment.md'), 'utf8')));
  expect([...documented].toSorted()).toEqual([...wanted].toSorted());
});
