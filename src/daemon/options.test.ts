import { describe, expect, it } from 'vitest';
import { ImagoError } from '../domain/errors.ts';
import { flagsOf, type OptionWords, readOptions } from './options.ts';

describe("the daemon's options", () => {
  it('are a Unix socket alone and the simulated provider, unless said otherwise', () => {
    expect(readOptions({})).toEqual({ provider: 'sim' });
  });

  it.each([
    ['127.0.0.1:7070', { host: '127.0.0.1', port: 7070 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    [':7070', { host: '0.0.0.0', port: 7070 }],
    ['[::1]:7070', { host: '::1', port: 7070 }],
  ])('listen on %s', (listen, tcp) => {
    expect(readOptions({ listen }).tcp).toEqual({ asked: listen, ...tcp });
  });

  it('carry a certificate with its key', () => {
    const words = { listen: '127.0.0.1:1', 'tls-certificate': '/c', 'tls-key': '/k' };
    expect(readOptions(words).tcp?.tls).toEqual({ certificate: '/c', key: '/k' });
  });

  it('can be told to the next one who asks for a daemon', () => {
    const words = { listen: ':1', 'tls-certificate': '/c', 'tls-key': '/k', 'time-scale': '5' };
    expect(flagsOf(readOptions(words))).toEqual({
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
    expect(() => readOptions(words)).toThrow(ImagoError);
    try {
      readOptions(words);
    } catch (error) {
      expect((error as ImagoError).exitCode).toBe(2);
    }
  });
});
