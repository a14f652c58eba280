import { describe, expect, it } from 'vitest';
import { setToml, tomlLine, tomlTexts, tomlVersion } from './toml.ts';

const text = `version = 2
root = "/var/lib/containerd"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "a" # the old one

[plugins.'io.containerd.grpc.v1.cri'.registry] # mirrors
  config_path = ""

[[stream]]
  config_path = "not this"
`;
const cri = ['plugins', 'io.containerd.grpc.v1.cri'];

describe('a value in a TOML file of another program', () => {
  it('is replaced where it stands, however the table is quoted, and all else stays', () => {
    const changed = setToml(
      setToml(text, cri, 'sandbox_image', 'b'),
      [...cri, 'registry'],
      'config_path',
      '/etc/x',
    );
    expect(changed).toBe(
      text
        .replace('sandbox_image = "a" # the old one', 'sandbox_image = "b"')
        .replace('config_path = ""', 'config_path = "/etc/x"'),
    );
  });

  it('is added to its table, or with its table at the end', () => {
    expect(setToml(text, cri, 'max', 3)).toContain('cri"]\n  max = 3\n  sandbox_image');
    expect(setToml(text, [...cri, 'runc', 'options'], 'SystemdCgroup', true)).toBe(
      `${text}\n[plugins."io.containerd.grpc.v1.cri".runc.options]\n  SystemdCgroup = true\n`,
    );
    expect(setToml('', [], 'version', 2)).toContain('version = 2\n');
    expect(setToml(text, [], 'required', ['a', 'b'])).toBe(`required = ["a","b"]\n${text}`);
    expect(setToml("'required' = []\n", [], 'required', ['a'])).toBe('required = ["a"]\n');
  });

  it('is as it was when it is set twice', () => {
    const once = setToml(text, [...cri, 'new'], 'a', 'b');
    expect(setToml(once, [...cri, 'new'], 'a', 'b')).toBe(once);
  });
});

describe('the version of the file', () => {
  it.each([
    [text, 2],
    ['# nothing\n', undefined],
    ['[table]\nversion = 3\n', undefined],
    ['version = 3', 3],
  ])('is read from its head: %j', (given, version) => {
    expect(tomlVersion(given)).toBe(version);
  });
});

describe('a line at the head of the file', () => {
  it('is found before any table only', () => {
    expect(tomlLine(text, 'root')).toBe('root = "/var/lib/containerd"');
    expect(tomlLine(text, 'sandbox_image')).toBeUndefined();
  });
});

describe('a list of texts in a line', () => {
  it.each([
    ['a = []', []],
    [`a = ["b", 'c'] # and more`, ['b', 'c']],
    ['a = ["b",]', ['b']],
    ['a = [', undefined],
    ['a = ["b", 3]', undefined],
    ['a = "b"', undefined],
  ])('is read where it is whole: %s', (line, texts) => {
    expect(tomlTexts(line)).toEqual(texts);
  });
});
