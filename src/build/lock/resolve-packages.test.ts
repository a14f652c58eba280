import { expect, test } from 'vitest';
import { sampleLock } from '../../../test/support/inventory.ts';
import { wantedPackages } from './resolve-packages.ts';

function wanted(settings: object, packages: readonly { readonly name: string }[] = []): readonly string[] {
  const { recipe } = sampleLock({ components: [], settings, packages });
  return wantedPackages(recipe).map(({ name }) => name);
}

test('what a setting needs comes with it, once', () => {
  expect(wanted({})).toEqual([]);
  expect(wanted({ time: { zone: 'Europe/Berlin' } })).toEqual(['tzdata']);
  expect(wanted({ time: { servers: ['time.example.com'] } })).toEqual(['systemd-timesyncd']);
  expect(wanted({ time: { zone: 'Etc/UTC' } }, [{ name: 'tzdata' }])).toEqual(['tzdata']);
});
