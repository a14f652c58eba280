import { expect, test } from 'vitest';
import { clientConfig } from './connection.ts';

function optionsOf(url: string, settings = {}): string {
  const { connectionString = '' } = clientConfig(url, settings);
  return new URLSearchParams(connectionString.split('?')[1]).get('options') ?? '';
}

test('settings are carried to every session, after those that the URL has itself', () => {
  const url = 'postgresql://ann@db.example/imago?options=-c%20work_mem%3D4MB&sslmode=require';
  const options = optionsOf(url, { 'imago.epoch': '7' });
  expect(options).toMatch(/^-c work_mem=4MB .*-c imago\.epoch=7$/);
  expect(clientConfig(url).connectionString).toContain('sslmode=require');
});

test('blanks and backslashes in a setting arrive as they are', () => {
  expect(optionsOf('postgresql://db/imago', { datestyle: 'ISO, YMD' })).toContain('-c datestyle=ISO,\\ YMD');
  expect(optionsOf('postgresql://db/imago', { x: 'a\\b' })).toContain('-c x=a\\\\b');
});

test('a URL without a host, and a password with strange characters, stay whole', () => {
  const url = 'postgresql://ann:p%40ss%3Fw@/imago?host=%2Frun%2Fa%20b';
  const { connectionString = '' } = clientConfig(url);
  expect(connectionString.startsWith('postgresql://ann:p%40ss%3Fw@/imago?host=%2Frun%2Fa%20b&')).toBe(true);
  expect(connectionString).not.toContain('+');
});

test('times are read in one form, regardless of their fraction and of the time zone of the server', () => {
  const { types } = clientConfig('postgresql://db/imago');
  const timeOf = (text: string) => types?.getTypeParser(1184, 'text')(text);
  expect(timeOf('2026-03-01 07:08:09+00')).toBe('2026-03-01T07:08:09.000Z');
  expect(timeOf('2026-03-01 07:08:09.5+00')).toBe('2026-03-01T07:08:09.500Z');
  expect(timeOf('2026-03-01 07:08:09.123+00')).toBe('2026-03-01T07:08:09.123Z');
  expect(timeOf('2026-03-01 07:08:09.123456+00')).toBe('2026-03-01T07:08:09.123Z');
  expect(timeOf('2026-03-01 01:08:09.5-05:30')).toBe('2026-03-01T06:38:09.500Z');
  expect(timeOf('10001-01-01 00:00:00+00')).toBe('+010001-01-01T00:00:00.000Z');
});
