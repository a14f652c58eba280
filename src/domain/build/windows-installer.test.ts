import { expect, it } from 'vitest';
import { installerCodes, judgeInstaller, requireInstalled } from './windows-installer.ts';

it('a code is the same signed or unsigned, decimal or hexadecimal', () => {
  for (const code of [
    '-2145124329',
    -2_145_124_329,
    '2149842967',
    '0x80240017',
    0x8024_0017,
    ' 0x80240017 ',
  ]) {
    expect(judgeInstaller(code)).toMatchObject({
      code: '0x80240017',
      outcome: 'failed',
      meaning: 'not applicable',
    });
  }
  expect(judgeInstaller('3010')).toMatchObject({ code: '0x00000BC2', outcome: 'restart' });
  expect(judgeInstaller('0x00240006')).toMatchObject({ outcome: 'present' });
  expect(judgeInstaller(1641)).toMatchObject({ outcome: 'restarted' });
});

it('every code has an answer, and one that is unknown or not a number is a failure', () => {
  for (const code of installerCodes) expect(judgeInstaller(code).action).toMatch(/\.$/);
  for (const code of ['', 'none', '0x12345678', 7]) expect(judgeInstaller(code).outcome).toBe('failed');
  expect(judgeInstaller('0x80073712').outcome).toBe('spoilt');
});

it('a failure names the patch, the code in hexadecimal, and what to do', () => {
  expect(requireInstalled('KB5018485', 3010).outcome).toBe('restart');
  expect(() => requireInstalled('KB5018485', -2_146_498_525)).toThrow(
    'KB5018485 was not installed: 0x800F0823, needs a newer servicing stack.',
  );
});
