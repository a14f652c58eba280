import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChannelRecord } from '../channel/channel.ts';
import { ImagoError } from '../error/imago-error.ts';
import { isUsable, type VersionState, versionStates } from '../image/version-state.ts';
import {
  type ImageContents,
  imageNotFound,
  nearestVersions,
  requireExact,
  resolveReference,
} from './resolve.ts';

function digest(letter: string): string {
  return `sha256:${letter.repeat(64)}`;
}

function version(number: string, state: VersionState, letter: string, month: number) {
  return { version: number, state, digest: digest(letter), createdAt: `2026-0${month}-01T00:00:00.000Z` };
}

function channel(name: string, more: Partial<ChannelRecord> = {}): ChannelRecord {
  return {
    image: 'node',
    name,
    forTesting: name === 'staging',
    managed: name === 'latest',
    position: 1,
    public: false,
    ...more,
  };
}

const contents: ImageContents = {
  versions: [
    version('1.34.1', 'available', 'a', 1),
    version('1.35.0', 'available', 'b', 2),
    version('1.34.2', 'candidate', 'c', 3),
    version('1.35.1', 'withdrawn', 'd', 4),
    version('1.33.0', 'deleted', 'e', 1),
  ],
  channels: [
    channel('staging', { version: '1.34.2', digest: digest('c'), move: 7, movedAt: '2026-03-02T00:00:00Z' }),
    channel('production', {
      version: '1.34.1',
      digest: digest('a'),
      move: 3,
      movedAt: '2026-01-02T00:00:00Z',
    }),
    channel('canary'),
  ],
};

function refused(reference: string): ImagoError {
  try {
    resolveReference(reference, contents);
  } catch (error) {
    if (error instanceof ImagoError) return error;
    throw error;
  }
  throw new Error(`${reference} was resolved`);
}

describe('a reference becomes one exact version', () => {
  test('by number', () => {
    expect(resolveReference('node:1.34.1', contents)).toEqual({
      reference: 'node:1.34.1',
      image: 'node',
      version: '1.34.1',
      digest: digest('a'),
      state: 'available',
    });
  });

  test('by channel, with the move that answered (rule 6)', () => {
    expect(resolveReference('node:production', contents)).toEqual({
      reference: 'node:production',
      image: 'node',
      version: '1.34.1',
      digest: digest('a'),
      state: 'available',
      channel: 'production',
      move: 3,
    });
  });

  test('by digest, and of two with one digest the newest that is not withdrawn', () => {
    const same: ImageContents = {
      channels: [],
      versions: [
        version('1.0.0', 'available', 'a', 1),
        version('1.0.1', 'available', 'a', 2),
        version('1.0.2', 'withdrawn', 'a', 3),
      ],
    };
    expect(resolveReference(`node@${digest('a')}`, same).version).toBe('1.0.1');
  });

  test('a bare name is the newest that is not withdrawn, by age', () => {
    expect(resolveReference('node', contents)).toMatchObject({ reference: 'node', version: '1.34.2' });
  });

  test('a withdrawn one that is named exactly is an answer, and says so', () => {
    expect(resolveReference('node:1.35.1', contents).state).toBe('withdrawn');
    expect(resolveReference(`node@${digest('d')}`, contents).state).toBe('withdrawn');
  });
});

describe('a missing one says what is near', () => {
  test('numbers: just below, just above, greatest; usable ones only', () => {
    const error = refused('node:1.34.7');
    expect(error).toMatchObject({ code: 'version-not-found', exitCode: 3 });
    expect(error.hint).toBe('The nearest that exist: `node:1.34.2` or `node:1.35.0`.');
  });

  test('a deleted version is not found, and was deleted', () => {
    expect(refused('node:1.33.0').message).toBe('node:1.33.0 was deleted.');
    expect(refused(`node@${digest('e')}`).code).toBe('version-not-found');
  });

  test('channels: by what was mistyped', () => {
    expect(refused('node:prodution')).toMatchObject({
      code: 'channel-not-found',
      hint: 'Did you mean `node:production`?',
    });
    expect(refused('node:nightly').hint).toBe('See `imago channel list node`.');
  });

  test('a channel that points at nothing is not the same as none', () => {
    expect(refused('node:canary').code).toBe('channel-empty');
  });

  test('images: by what was mistyped', () => {
    expect(imageNotFound('nodes', ['node', 'other']).hint).toBe('Did you mean `node`?');
    expect(imageNotFound('zzz', ['node']).hint).toBe('See `imago image list`.');
  });

  test('an image without a usable version', () => {
    expect(() => resolveReference('node', { versions: [], channels: [] })).toThrow(
      expect.objectContaining({ code: 'version-not-found' }),
    );
  });

  test('a malformed reference is wrong input, not absence', () => {
    expect(refused('node:1.x').code).toBe('reference-malformed');
  });
});

test('a channel that points outside the catalogue is our bug, not the caller’s', () => {
  const broken = {
    versions: [],
    channels: [channel('production', { version: '9.9.9', digest: digest('f') })],
  };
  expect(() => resolveReference('node:production', broken)).toThrow(
    expect.objectContaining({ code: 'internal' }),
  );
});

test('commands that start or move nodes refuse a bare name', () => {
  expect(() => requireExact('node')).toThrow(
    expect.objectContaining({ code: 'reference-inexact', exitCode: 2 }),
  );
  expect(requireExact('node:production')).toMatchObject({ kind: 'channel' });
  expect(requireExact('node:1.2.3')).toMatchObject({ kind: 'version' });
  expect(requireExact(`node@${digest('a')}`)).toMatchObject({ kind: 'digest' });
});

test.each<[string, string[], string[]]>([
  ['1.5.0', [], []],
  ['1.5.0', ['1.4.0'], ['1.4.0']],
  ['1.5.0', ['1.10.0', '1.4.0', '1.6.0', '1.3.0'], ['1.4.0', '1.6.0', '1.10.0']],
  ['9.0.0', ['1.0.0', '2.0.0'], ['2.0.0']],
  ['0.1.0', ['1.0.0', '2.0.0'], ['1.0.0', '2.0.0']],
])('near %s of %j are %j', (wanted, known, near) => {
  expect(nearestVersions(wanted, known)).toEqual(near);
});

test('a bare name is never a withdrawn version, and no usable one is newer', () => {
  const made = fc.record({
    version: fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)).map((parts) => parts.join('.')),
    state: fc.constantFrom(...versionStates),
    digest: fc.constant(digest('a')),
    createdAt: fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((time) => time.toISOString()),
  });
  const image = fc.uniqueArray(made, { selector: ({ version: number }) => number, maxLength: 12 });
  fc.assert(
    fc.property(image, (versions) => {
      const usable = versions.filter(({ state }) => isUsable(state));
      if (usable.length === 0) {
        expect(() => resolveReference('node', { versions, channels: [] })).toThrow();
        return;
      }
      const found = resolveReference('node', { versions, channels: [] });
      const at = versions.find(({ version: number }) => number === found.version)?.createdAt ?? '';
      expect(isUsable(found.state)).toBe(true);
      for (const other of usable) expect(other.createdAt <= at).toBe(true);
    }),
  );
});
