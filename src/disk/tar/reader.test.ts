import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { TarEntry } from './entry.ts';
import { encodeHeader } from './header.ts';
import { sourceInput, streamInput, type TarInput } from './input.ts';
import { readTar, type TarReadOptions } from './reader.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from './writer.ts';

const open: TarReadOptions = { maxEntries: 1000, maxBytes: 1024 * 1024, devices: 'allow' };

async function archive(items: readonly TarItem[]): Promise<Buffer> {
  return buffer(writeTar(items));
}

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface ReadItem {
  readonly entry: TarEntry;
  readonly content: string;
}

async function readAll(input: TarInput, options: TarReadOptions = open): Promise<ReadItem[]> {
  const items: ReadItem[] = [];
  for await (const { entry, content } of readTar(input, options)) {
    items.push({ entry, content: (await buffer(content())).toString('latin1') });
  }
  return items;
}

function read(bytes: Buffer, options: TarReadOptions = open): Promise<ReadItem[]> {
  return readAll(sourceInput(bufferSource(bytes), 700), options);
}

/** A header whose checksum is right although its fields were changed by hand. */
function forged(entry: TarEntry, change: (header: Buffer) => void): Buffer {
  const header = Buffer.from(encodeHeader(entry));
  change(header);
  header.fill(0x20, 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, Buffer.alloc(1024)]);
}

const name = fc.stringMatching(/^[a-zA-Zäß漢_-][a-z.äß漢]{0,60}$/);
const path = fc.array(name, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/'));
const id = fc.oneof(fc.nat(70_000), fc.integer({ min: 2 ** 21 - 1, max: 2 ** 32 - 2 }));
const file = fc
  .record({
    path,
    mode: fc.nat(0o7777),
    uid: id,
    gid: id,
    mtime: fc.oneof(fc.nat(2 ** 31), fc.constant(8 ** 11 + 5)),
    xattrs: fc.array(
      fc.tuple(
        fc.constantFrom('user.a', 'security.capability', 'user.ü'),
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
      ),
    ),
    content: fc.uint8Array({ maxLength: 1500 }),
  })
  .map(({ xattrs, content, path: place, ...rest }) =>
    tarFile(place, content, {
      ...rest,
      xattrs: new Map(xattrs.map(([key, value]) => [key, Buffer.from(value)])),
    }),
  );
const other = fc
  .record({
    path,
    type: fc.constantFrom('directory', 'symlink', 'hardlink', 'fifo', 'character'),
    link: path,
  })
  .map(({ path: place, type, link }): TarItem => {
    const device = type === 'character' ? { major: 5, minor: 1 } : undefined;
    return {
      entry: tarEntry(place, { type, device, link: type === 'symlink' || type === 'hardlink' ? link : '' }),
    };
  });

describe('tar archives', () => {
  it('read back as they were written, from a stream and from a file', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(file, other), { maxLength: 8 }),
        fc.integer({ min: 1, max: 2000 }),
        async (items, size) => {
          const bytes = await archive(items);
          const expected = items.map(({ entry, content }) => ({
            entry,
            content: Buffer.from((content as Uint8Array | undefined) ?? []).toString('latin1'),
          }));
          expect(await readAll(streamInput(pieces(bytes, size)))).toEqual(expected);
          expect(await read(bytes)).toEqual(expected);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('skip content that is not read', async () => {
    const bytes = await archive([tarFile('a', 'x'.repeat(5000)), tarFile('b', 'y')]);
    const paths: string[] = [];
    for await (const { entry } of readTar(streamInput(pieces(bytes, 100)), open)) paths.push(entry.path);
    expect(paths).toEqual(['a', 'b']);
  });

  it('state sizes beyond 8 GiB', async () => {
    const size = 9 * 1024 ** 3;
    const header = encodeHeader(tarEntry('big', { size }));
    const input = sourceInput({
      size: header.length + size + 1024,
      read: async (at, target) => {
        target.fill(0);
        if (at < header.length) header.copy(target, 0, at);
        return target;
      },
    });
    const records = readTar(input, { ...open, maxBytes: size + 4096 });
    const first = await records.next();
    expect(first.value?.entry.size).toBe(size);
    expect((await records.next()).done).toBe(true);
  });
});

describe('a hostile archive is refused', () => {
  it.each([
    ['a path with ..', '../etc/passwd'],
    ['.. in the middle', 'a/../../b'],
    ['an absolute path', '/etc/passwd'],
  ])('with %s', async (_what, bad) => {
    const bytes = forged(tarEntry('x'), (header) => header.fill(0, 0, 100).write(bad, 0));
    await expect(read(bytes)).rejects.toMatchObject({ code: 'tar-unsafe' });
  });

  it('unless absolute paths are to be taken as relative', async () => {
    const bytes = forged(tarEntry('x'), (header) => header.write('/etc/passwd', 0));
    expect((await read(bytes, { ...open, absolute: 'strip' }))[0]?.entry.path).toBe('etc/passwd');
  });

  it('with a hard link that leads outside', async () => {
    const bytes = forged(tarEntry('x', { type: 'hardlink', link: 'y' }), (header) =>
      header.write('../../shadow', 157),
    );
    await expect(read(bytes)).rejects.toMatchObject({ code: 'tar-unsafe' });
  });

  it('with a symlink that leads outside, where that is asked for', async () => {
    for (const link of ['/etc', '../../x', 'a/../../..']) {
      const bytes = await archive([{ entry: tarEntry('d/l', { type: 'symlink', link }) }]);
      await expect(read(bytes, { ...open, symlinks: 'inside' })).rejects.toMatchObject({
        code: 'tar-unsafe',
      });
      expect((await read(bytes))[0]?.entry.link).toBe(link);
    }
  });

  it('with a device, unless devices are allowed', async () => {
    const bytes = await archive([
      { entry: tarEntry('sda', { type: 'block', device: { major: 8, minor: 0 } }) },
    ]);
    await expect(read(bytes, { maxEntries: 10, maxBytes: 10 })).rejects.toMatchObject({ code: 'tar-unsafe' });
  });

  it('with more entries or bytes than allowed, before they are read', async () => {
    const many = await archive([tarFile('a', ''), tarFile('b', ''), tarFile('c', '')]);
    await expect(read(many, { ...open, maxEntries: 2 })).rejects.toMatchObject({ code: 'tar-limit' });
    const bomb = encodeHeader(tarEntry('bomb', { size: 10 * 1024 ** 4 }));
    await expect(read(bomb)).rejects.toMatchObject({ code: 'tar-limit' });
  });

  it.each([
    ['a sparse file', (header: Buffer) => header.write('S', 156)],
    ['an unknown type', (header: Buffer) => header.write('Q', 156)],
    ['a folder with content', (header: Buffer) => header.write('5', 156) && header.write('00000000010', 124)],
    ['a size that is not a number', (header: Buffer) => header.write('12x', 124)],
    ['a negative size', (header: Buffer) => header.fill(0xff, 124, 136)],
    ['a name that is not UTF-8', (header: Buffer) => header.writeUInt8(0xff, 0)],
  ])('with %s', async (_what, change) => {
    await expect(read(forged(tarEntry('x'), change))).rejects.toMatchObject({ code: 'tar-invalid' });
  });

  it('with something behind its end', async () => {
    const bytes = Buffer.concat([await archive([tarFile('a', 'b')]), await archive([tarFile('c', 'd')])]);
    await expect(read(bytes)).rejects.toMatchObject({ code: 'tar-invalid' });
  });

  it('when it is truncated anywhere', async () => {
    const bytes = await archive([tarFile('a', 'x'.repeat(600)), tarFile('b'.repeat(150), 'y')]);
    for (let end = 0; end < bytes.length; end += 100) {
      await expect(read(bytes.subarray(0, end))).rejects.toMatchObject({ code: 'tar-invalid' });
      await expect(readAll(streamInput(pieces(bytes.subarray(0, end), 64)))).rejects.toMatchObject({
        code: 'tar-invalid',
      });
    }
  });
});

it('any damage is either refused or gives entries within their limits', async () => {
  const original = await archive([
    { entry: tarEntry('dir', { type: 'directory' }) },
    tarFile(`dir/${'long'.repeat(40)}`, 'content', { xattrs: new Map([['user.x', Buffer.from([0, 1, 2])]]) }),
    { entry: tarEntry('link', { type: 'symlink', link: 'dir' }) },
    tarFile('last', 'z'.repeat(1000)),
  ]);
  const change = fc.array(fc.tuple(fc.nat(original.length - 1), fc.integer({ min: 0, max: 255 })), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(
      change,
      fc.boolean(),
      fc.option(fc.nat(original.length), { nil: undefined }),
      async (bytes, repair, cut) => {
        const damaged = Buffer.from(original);
        for (const [at, value] of bytes) damaged.writeUInt8(value, at);
        if (repair) repairHeaders(damaged);
        await expectConsistent(cut === undefined ? damaged : damaged.subarray(0, cut));
      },
    ),
    { numRuns: 1000 },
  );
});

function repairHeaders(bytes: Buffer): void {
  for (let at = 0; at + 512 <= bytes.length; at += 512) {
    const block = bytes.subarray(at, at + 512);
    if (block.toString('latin1', 257, 262) !== 'ustar') continue;
    block.fill(0x20, 148, 156);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
}

async function expectConsistent(bytes: Buffer): Promise<void> {
  try {
    for (const { entry, content } of await read(bytes)) {
      expect(content.length).toBe(entry.size);
      expect(entry.path.split('/')).not.toContain('..');
    }
  } catch (error) {
    expect(error).toBeInstanceOf(ImagoError);
  }
}
