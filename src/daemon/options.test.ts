import { describe, expect, it } from 'vitest';
import { ImagoError } from '../domain/error/imago-error.ts';
import { readSettings } from '../domain/settings/settings.ts';
import { missingMachineTools } from './doctor/machines.ts';
import { readOptions } from './options.ts';

const sim = { IMAGO_PROVIDER: 'sim' };

describe("the daemon's options", () => {
  it('refuse private addresses once other hosts can reach the daemon, or a list says which are allowed', () => {
    const rules = (given: object, env = {}) => readOptions(given, { ...sim, ...env }).addresses;
    expect(rules({ listen: '127.0.0.1:7070' })).toEqual({ allow: [], refusePrivate: true });
    expect(rules({ 'allow-addresses': 'none' })).toEqual({ allow: [], refusePrivate: true });
    const listed = { allow: ['10.0.0.0/8', 'registry.local'], refusePrivate: true };
    expect(rules({ 'allow-addresses': '10.0.0.0/8, Registry.local' })).toEqual(listed);
    expect(rules({}, { IMAGO_ALLOW_ADDRESSES: '10.0.0.0/8,registry.local' })).toEqual(listed);
  });

  it('are a Unix socket alone, unless set otherwise', () => {
    expect(readOptions({}, sim)).toEqual({
      given: {},
      settings: { provider: 'sim' },
      addresses: { allow: [], refusePrivate: false },
      provider: 'sim',
      keep: {},
    });
  });

  it('select the simulation only by the setting or the environment, never by what is installed', () => {
    expect(readOptions({ provider: 'local' }, sim).provider).toBe('local');
    expect(readOptions({}, sim).provider).toBe('sim');
    expect(readOptions({}, { IMAGO_PROVIDER: '' }).provider).toBe('local');
    expect(() => readOptions({}, { IMAGO_PROVIDER: 'moon' })).toThrow('IMAGO_PROVIDER is "moon".');
  });

  it('keep operations and logs for as many days as the setting or the environment gives', () => {
    const days = { IMAGO_KEEP_OPERATIONS: '90', IMAGO_KEEP_LOGS: '' };
    expect(readOptions({}, { ...sim, ...days }).keep).toEqual({ recordDays: 90 });
    expect(readOptions({ 'keep-logs': 8 }, { ...sim, IMAGO_KEEP_LOGS: '7' }).keep).toEqual({ logDays: 8 });
    for (const wrong of ['6', '1.5', 'ever', '-1', '40000']) {
      expect(() => readOptions({}, { ...sim, IMAGO_KEEP_LOGS: wrong })).toThrow('IMAGO_KEEP_LOGS is');
    }
  });

  it('name what a host without QEMU must install, and the simulation as an explicit choice', () => {
    expect(missingMachineTools((program) => `/usr/bin/${program}`)).toBeUndefined();
    const hint = missingMachineTools((program) => (program === 'qemu-img' ? undefined : program));
    expect(hint).toMatch(/^qemu-img not found\. .*qemu-utils.*--provider sim\.$/);
    expect(missingMachineTools(() => undefined)).toMatch(/^qemu-system-\S+ and qemu-img not found/);
  });

  it.each([
    ['127.0.0.1:7070', { host: '127.0.0.1', port: 7070 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    [':7070', { host: '0.0.0.0', port: 7070 }],
    ['[::1]:7070', { host: '::1', port: 7070 }],
  ])('listen on %s', (listen, tcp) => {
    expect(readOptions({ listen }, sim).tcp).toEqual(tcp);
  });

  it('carry a certificate with its key, which can be in the same file', () => {
    const settings = { listen: '127.0.0.1:1', 'tls-cert': '/c' };
    expect(readOptions(settings, sim).tcp?.tls).toEqual({ certificate: '/c', key: '/c' });
    expect(readOptions({ ...settings, 'tls-key': '/k' }, sim).tcp?.tls?.key).toBe('/k');
  });
});

describe('settings', () => {
  it.each<[string, object]>([
    ['a port without a host', { listen: '7070' }],
    ['a port that is too big', { listen: 'localhost:70000' }],
    ['an address without its brackets', { listen: '::1:7070' }],
    ['no address at all', { listen: '' }],
    ['a certificate by a relative path', { 'tls-cert': 'c.pem' }],
    ['a key without a certificate', { listen: ':1', 'tls-key': '/k' }],
    ['time that stands still', { 'time-scale': '0' }],
    ['time that is not a number', { 'time-scale': 'fast' }],
    ['time without an end', { 'time-scale': 'Infinity' }],
    ['a provider that does not exist', { provider: 'moon' }],
    ['a name that does not exist', { lisen: ':1' }],
    ['a name that every object has', { constructor: 'x' }],
  ])('are refused as wrong input: %s', (_, values) => {
    expect(() => readSettings(values)).toThrow(ImagoError);
    expect(() => readSettings(values)).toThrow(expect.objectContaining({ exitCode: 2 }));
  });
});
