import { expect, test } from 'vitest';
import { checkAzureSize, sizeFacts } from './sizes.ts';

test.each([
  ['Standard_D2s_v5', 'x64', [1, 2]],
  ['standard_d4ds_v5', 'x64', [1, 2]],
  ['Standard_D2ps_v5', 'arm64', [2]],
  ['Standard_D4pds_v6', 'arm64', [2]],
  ['Standard_E8as_v5', 'x64', [1, 2]],
  ['Standard_D8ads_v6', 'x64', [2]],
  ['Standard_B2ms', 'x64', [1, 2]],
  ['Standard_B2pts_v2', 'arm64', [2]],
  ['Standard_DS1_v2', 'x64', [1, 2]],
  ['Standard_D1_v2', 'x64', [1]],
  ['Standard_DC4as_v5', 'x64', [2]],
  ['Standard_NC24ads_A100_v4', 'x64', [2]],
])('%s starts %s of generations %j', (size, architecture, generations) => {
  expect(sizeFacts(size)).toMatchObject({ architecture, generations });
});

test('a size that cannot start the image is refused with the reason and one that can', () => {
  const x64 = { architecture: 'x64', generations: [2] } as const;
  expect(() => checkAzureSize('Standard_D2s_v5', x64)).not.toThrow();
  expect(() => checkAzureSize('Standard_X99_v9', x64)).not.toThrow();
  expect(() => checkAzureSize('Standard_D2ps_v5', x64)).toThrow('is arm64, and the image is x64');
  expect(() => checkAzureSize('Standard_D1_v2', x64)).toThrow('starts generation 1 only');
  for (const text of ['small', '2cpu-2g', '', 'Standard_']) {
    expect(() => checkAzureSize(text, x64)).toThrow(/not a size of machines in Azure/);
  }
});
