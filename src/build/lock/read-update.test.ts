import { expect, it } from 'vitest';
import { cabinet } from '../../../test/support/cabinet.ts';
import { checkUpdate } from './read-update.ts';

async function check(content: Uint8Array, kb = 'KB5032198', source = 'file:x.msu') {
  const lines: string[] = [];
  const wish = { kb, label: 'the patch', source, log: (line: string) => lines.push(line) };
  await checkUpdate(
    (async function* () {
      yield content;
    })(),
    wish,
  );
  return lines;
}

const real = ['WSUSSCAN.cab', 'Windows10.0-KB5032198-x64.cab', 'Windows10.0-KB5032198-x64-pkgProperties.txt'];

it('an update whose members name its KB is taken, one of another is refused', async () => {
  expect(await check(cabinet(real))).toEqual([]);
  await expect(check(cabinet(real), 'KB5031364')).rejects.toMatchObject({
    code: 'patch-invalid',
    message: 'The file of the patch is not of that KB: its members name KB5032198.',
  });
  await expect(check(cabinet(['readme.txt']))).rejects.toThrow(/name none/);
});

it('what is not an update, or is truncated, is refused', async () => {
  await expect(check(Buffer.from('<html>not found</html>'))).rejects.toThrow(/neither a cabinet nor a WIM/);
  const whole = cabinet(real);
  for (const length of [5, 30, 45, 60]) {
    await expect(check(whole.subarray(0, length))).rejects.toMatchObject({ code: 'patch-invalid' });
  }
});

it('a WIM file is not compared, and that is logged, as is a SHA-1 that is not the one of its name', async () => {
  const wim = Buffer.from('MSWIM\0\0\0rest');
  expect(await check(wim, 'KB5060842', 'https://x/windows11.0-kb5060842-x64.msu')).toEqual([
    'the patch: a WIM file; its name has the KB, and its content was not compared.',
  ]);
  expect(await check(cabinet(real), 'KB5032198', `https://x/kb5032198-x64_${'a'.repeat(40)}.msu`)).toEqual([
    expect.stringContaining('SHA-1'),
  ]);
});
