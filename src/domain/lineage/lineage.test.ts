import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineageBuilder, namesOf, parentOf } from './lineage.ts';
import { lineageMermaid, lineageTree } from './text.ts';

const digest = `sha256:${'a'.repeat(64)}`;

test('a parent is understood however it is named, and nothing is guessed', () => {
  const captured = (parent: string) => parentOf({ kind: 'captured', node: 'web-1', parent });
  for (const name of namesOf({ image: 'node', version: '1.0.0', digest }))
    expect(captured(name)).toBeDefined();
  expect(captured('node:1.0.0')).toEqual({ kind: 'version', image: 'node', version: '1.0.0' });
  for (const name of ['', 'node', 'node:production', 'sha256:short', 'node@sha256:1']) {
    expect(captured(name)).toBeUndefined();
  }
  expect(parentOf({ kind: 'built', lockDigest: 'l' })).toBeUndefined();
});

test('no label can break out of a Mermaid drawing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (label) => {
      const builder = new LineageBuilder();
      builder.add({ id: 'a', kind: 'node', label });
      builder.add({ id: 'b', kind: 'pool', label: 'b' });
      builder.join('a', 'b', label);
      const lines = lineageMermaid(builder.graph()).split('\n');
      expect(lines).toHaveLength(5);
      expect(lines[1]).toMatch(/^ {2}n0\["node [^"]*"\]$/s);
      expect(lines[3]).toMatch(/^ {2}n0 -->\|"[^"]*"\| n1$/s);
    }),
  );
});

test('a graph with a circle or a diamond is told to its end, each thing once', () => {
  const builder = new LineageBuilder();
  for (const id of ['top', 'left', 'right', 'end']) builder.add({ id, kind: 'version', label: id });
  builder.join('top', 'left', 'made');
  builder.join('top', 'right', 'made');
  builder.join('left', 'end', 'made');
  builder.join('right', 'end', 'made');
  builder.join('end', 'left', 'made');
  builder.join('end', 'nowhere', 'made');
  expect(lineageTree(builder.graph())).toEqual([
    'version top',
    '  made version left',
    '    made version end',
    '      made version left (above)',
    '  made version right',
    '    made version end (above)',
  ]);
});
