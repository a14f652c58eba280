import { expect, test } from 'vitest';
import { costOf, readPrices, totalOf } from './cost.ts';

const prices = readPrices({ currency: 'EUR', gibMonth: 0.05, regions: { westeurope: 0.1 } }, 'prices.yaml');
const copy = { gallery: 'azure', image: 'node', version: '1.0.0', sizeBytes: 30 * 2 ** 30 };

test('a copy costs its size in every region, times the replicas and the price there', () => {
  const regions = [
    { region: 'westeurope', replicas: 2 },
    { region: 'uksouth', replicas: 3 },
  ];
  expect(costOf({ ...copy, regions }, prices)).toEqual({ ...copy, replicas: 5, cost: 10.5 });
});

test('a copy without a size has no cost, and does not count as nothing', () => {
  const { sizeBytes: _, ...unknown } = copy;
  const cost = costOf({ ...unknown, regions: [{ region: 'uksouth', replicas: 1 }] }, prices);
  expect(cost).not.toHaveProperty('cost');
  expect(totalOf([cost, { ...copy, replicas: 1, cost: 1.5 }])).toBe(1.5);
});

test.each([
  [{ currency: 'EUR' }, 'gibMonth'],
  [{ currency: 'EUR', gibMonth: -1 }, 'gibMonth'],
  [{ currency: 'EUR', gibMonth: 1, region: {} }, 'region'],
  ['free', 'prices'],
])('prices %j are refused with the field', (value, field) => {
  expect(() => readPrices(value, 'prices.yaml')).toThrow(field);
});
