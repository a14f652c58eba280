import { describe, expect, it } from 'vitest';
import { ImagoError } from '../domain/error/imago-error.ts';
import { defaultProvider } from './default-provider.ts';
import { flagsOf, type OptionWords, readOptions } from './options.ts';

const sim = { IMAGO_PROVIDER: 'sim' };

describe("the daemon's options", () => {
  it('are a Unix socket alone, unless said otherwise', () => {
    expect(readOptions({}, sim)).toEqual({ provider: 'sim' });
  });

  it('name the provider: by the flag, by the environment, or by what is installed', () => {
    expect(readOptions({ provider: 'local' }, sim).provider).toBe('local');
    expect(readOptions({}, sim).provider).toBe('sim');
    expect(readOptions({}, { IMAGO_PROVIDER: '' }).provider).toBe(defaultProvider());
    expect(() => readOptions({}, { IMAGO_PROVIDER: 'moon' })).toThrow(ImagoError);
  });

  it('keep operations and logs for as many days as the environment says', () => {
    const days = { IMAGO_KEEP_OPERATIONS: '90', IMAGO_KEEP_LOGS: '' };
    expect(readOptions({}, { ...sim, ...days }).keep).toEqual({ recordDays: 90 });
    expect(readOptions({}, { ...sim, IMAGO_KEEP_LOGS: '7' }).keep).toEqual({ logDays: 7 });
    for (const wrong of ['6', '1.5', 'ever', '-1', '40000']) {
      expect(() => readOptions({}, { ...sim, IMAGO_KEEP_LOGS: wrong })).toThrow(
        'IMAGO_KEEP_LOGS is a number',
      );
    }
  });

  it('mean the local provider only where machines can be started', () => {
    expect(defaultProvider((program) => `/usr/bin/${program}`)).toBe('local');
    expect(defaultProvider((program) => (program === 'qemu-img' ? undefined : program))).toBe('sim');
    expect(defaultProvider((program) => (program === 'qemu-img' ? program : undefined))).toBe('sim');
  });

  it.each([
    ['127.0.0.1:7070', { host: '127.0.0.1', port: 7070 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    [':7070', { host: '0.0.0.0', port: 7070 }],
    ['[::1]:7070', { host: '::1', port: 7070 }],
  ])('listen on %s', (listen, tcp) => {
    expect(readOptions({ listen }, sim).tcp).toEqual({ asked: listen, ...tcp });
  });

  it('carry a certificate with its key', () => {
    const words = { listen: '127.0.0.1:1', 'tls-certificate': '/c', 'tls-key': '/k' };
    expect(readOptions(words, sim).tcp?.tls).toEqual({ certificate: '/c', key: '/k' });
  });

  it('can be told to the next one who asks for a daemon', () => {
    const words = { listen: ':1', 'tls-certificate': '/c', 'tls-key': '/k', 'time-scale': '5' };
    expect(flagsOf(readOptions(words, sim))).toEqual({
      listen: ':1',
      tlsCertificate: '/c',
      tlsKey: '/k',
      timeScale: 5,
      provider: 'sim',
    });
  });

  it.each<[string, OptionWords]>([
    ['a port without a host', { listen: '7070' }],
    ['a port that is too big', { listen: 'localhost:70000' }],
    ['an address without its brackets', { listen: '::1:7070' }],
    ['no address at all', { listen: '' }],
    ['a certificate without a key', { listen: ':1', 'tls-certificate': '/c' }],
    ['a key without a certificate', { listen: ':1', 'tls-key': '/k' }],
    ['a certificate with nothing to listen on', { 'tls-certificate': '/c', 'tls-key': '/k' }],
    ['time that stands still', { 'time-scale': '0' }],
    ['time that is no number', { 'time-scale': 'fast' }],
    ['time without an end', { 'time-scale': 'Infinity' }],
    ['a provider that does not exist', { provider: 'moon' }],
  ])('are refused as wrong input: %s', (_, words) => {
    expect(() => readOptions(words, sim)).toThrow(ImagoError);
    try {
      readOptions(words, sim);
    } catch (error) {
      expect((error as ImagoError).exitCode).toBe(2);
    }
  });
});
