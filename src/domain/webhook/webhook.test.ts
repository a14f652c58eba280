// Which addresses count as private, what can be asked for, and when a delivery is given up.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPrivateAddress } from './address.ts';
import { cloudEvent, pauseAfter, readWebhookEvents, readWebhookUrl, retryPausesMs } from './webhook.ts';

test.each([
  ...['127.0.0.1', '10.1.2.3', '172.31.255.255', '192.168.0.1', '169.254.169.254', '168.63.129.16'],
  ...['100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255', '198.19.0.1'],
  ...['::1', '::', 'fe80::1%eth0', 'fd00::1', 'ff02::1', '2001:db8::1', '::ffff:10.0.0.1', '::ffff:a00:1'],
  ...[
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '::127.0.0.1',
    'fec0::1',
    'localhost',
    '',
    '1.2.3',
    '1:2:3',
    '::1::',
  ],
])('%s is private', (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

test.each([
  '1.1.1.1',
  '172.32.0.1',
  '11.0.0.1',
  '2606:4700::1111',
  '::ffff:1.1.1.1',
  '64:ff9b::101:101',
  '[2a00::1]',
])('%s is public', (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});

test('an IPv4 address is private in every way to write it', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const hex = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
      const mapped = `::ffff:${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
      expect(isPrivateAddress(mapped)).toBe(isPrivateAddress(address));
      expect(isPrivateAddress(`::ffff:${address}`)).toBe(isPrivateAddress(address));
    }),
  );
});

test.each([
  'ftp://a.example',
  'http://a.example',
  'https://ann:x@a.example',
  'nonsense',
  'file:///etc/passwd',
])('%s is refused', (url) => {
  expect(() => readWebhookUrl(url, false)).toThrow(expect.objectContaining({ code: 'webhook-address' }));
});

test('plain HTTP is for allowed private addresses only; ways to hide an address are seen through', () => {
  expect(readWebhookUrl('http://127.0.0.1:8080/x#y', true).href).toBe('http://127.0.0.1:8080/x');
  expect(readWebhookUrl('https://0x7f.1/', false).hostname).toBe('127.0.0.1');
  expect(readWebhookUrl('https://2130706433/', false).hostname).toBe('127.0.0.1');
});

test('kinds of events: the usual ones, each once, and the nearest for a typing error', () => {
  expect(readWebhookEvents([])).toContain('channel.moved');
  expect(readWebhookEvents(['channel.moved', 'channel.moved'])).toEqual(['channel.moved']);
  expect(() => readWebhookEvents(['chanel.moved'])).toThrow(
    expect.objectContaining({ code: 'input-invalid', hint: 'Did you mean channel.moved?' }),
  );
});

test('a delivery is tried for three days with growing pauses, then given up', () => {
  const total = retryPausesMs.reduce((sum, pause) => sum + pause, 0) / 3_600_000;
  expect(total).toBeGreaterThan(70);
  expect(retryPausesMs.toSorted((a, b) => a - b)).toEqual(retryPausesMs);
  expect(pauseAfter(1, 0)).toBe(5000);
  expect(pauseAfter(1, 1)).toBe(5500);
  expect(pauseAfter(retryPausesMs.length + 1, 0)).toBeUndefined();
});

test('the body is a CloudEvent', () => {
  const event = {
    id: 7,
    at: '2026-11-16T00:00:00.000Z',
    type: 'channel.moved',
    subject: 'image/node',
    data: { to: '1' },
  };
  expect(JSON.parse(cloudEvent(event, 'urn:imago:a'))).toEqual({
    specversion: '1.0',
    id: '7',
    source: 'urn:imago:a',
    type: 'imago.channel.moved',
    subject: 'image/node',
    time: event.at,
    datacontenttype: 'application/json',
    data: { to: '1' },
  });
});
