import { expect, test } from 'vitest';
import { floorsBetween } from './floors.ts';

test.each([
  [['1.9.0'], '1.12.0', ['1.10.0', '1.11.2']],
  [['1.10.0', '1.11.0'], '1.12.0', ['1.11.2']],
  [['1.11.2', '1.12.0'], '1.12.1', []],
  [['1.9.0'], '1.10.0', []],
  [['1.9.0'], '1.9.5', []],
  [['1.12.0'], '1.9.0', []],
  [[], '1.12.0', []],
])('nodes of %j on their way to %s pass through %j', (nodes, target, through) => {
  expect(floorsBetween(['1.11.2', '1.10.0'], nodes, target)).toEqual(through);
});
