import { expect, test } from 'vitest';
import { agentFiles } from '../agent/agent-files.ts';
import { rootFiles } from '../images/root-files.ts';
import { ownPaths } from './own-paths.ts';

const written = [
  ...agentFiles().map(({ path }) => path),
  ...rootFiles(0).flatMap(({ entry }) => (entry.type === 'directory' ? [] : [`/${entry.path}`])),
];

test.each(written)('%s, which Imago writes, is closed to recipes', (place) => {
  expect(ownPaths.some(({ path }) => place === path || place.startsWith(`${path}/`))).toBe(true);
});
