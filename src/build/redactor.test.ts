import { expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../test/support/inventory.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import { createRedactor } from './redactor.ts';

const hush = {
  name: 'hush',
  version: '2.0',
  from: { url: `https://hidden.example/\${version}/hush.bin` },
  to: '/opt/secret/bin',
  unit: { content: '' },
  private: true as const,
};
const quiet = { name: 'quiet', from: { package: 'quietpack' }, private: true as const };
const lock = sampleLock({ components: [hush, quiet, { name: 'runc' }] }, [
  sampleInput('binary', 'hush', {
    version: '2.0',
    private: true,
    source: 'https://hidden.example/2.0/hush.bin',
  }),
  sampleInput('package', 'quietpack'),
  sampleInput('package', 'runc'),
]);

test.each([
  ['component hush: done in 2 s', 'component private-1: done in 2 s'],
  ['fetching https://hidden.example/2.0/hush.bin', 'fetching private-1'],
  ['getaddrinfo ENOTFOUND hidden.example', 'getaddrinfo ENOTFOUND private-1'],
  ['Setting up quietpack (1.0) ...', 'Setting up private-2 (1.0) ...'],
  ['cannot write /opt/secret/bin/x', 'cannot write private-1/x'],
  ['Created symlink hush.service', 'Created symlink private-1'],
  ['component hushed and runc', 'component hushed and runc'],
])('%j is redacted to %j', (line, told) => {
  expect(createRedactor(lock).hide(line)).toBe(told);
});

test('without a lock no alias is shown, because it can change', () => {
  const { hide } = createRedactor({ recipe: lock.recipe, inputs: [] });
  expect(hide('resolving hush from https://hidden.example/2.0/hush.bin')).toBe(
    'resolving private from private',
  );
});

test('an error keeps its code and the way into the failed layer, and loses the words', () => {
  const error = new ImagoError('build-failed', 'dpkg: quietpack failed', {
    hint: 'Look at hush.',
    details: { lines: ['quietpack "x"'], shell: ['/cache/hush/sh'], code: 3 },
  });
  expect(createRedactor(lock).hideError(error)).toMatchObject({
    code: 'build-failed',
    message: 'dpkg: private-2 failed',
    hint: 'Look at private-1.',
    details: { lines: ['private-2 "x"'], shell: ['/cache/hush/sh'], code: 3 },
  });
});

test('without private inputs nothing is touched', () => {
  const words = createRedactor(
    sampleLock({ components: [{ name: 'runc' }] }, [sampleInput('package', 'runc')]),
  );
  const error = new ImagoError('build-failed', 'runc failed');
  expect(words.hide('component hush')).toBe('component hush');
  expect(words.hideError(error)).toBe(error);
});
