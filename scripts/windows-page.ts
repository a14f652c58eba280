// docs/windows.md is written by hand, except its table of installer codes.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { installerCodes, judgeInstaller } from '../src/domain/build/windows-installer.ts';

const root = path.join(import.meta.dirname, '..');
const [start, end] = ['<!-- installer codes -->\n', '<!-- /installer codes -->\n'];

export function windowsPage(): string {
  const text = readFileSync(path.join(root, 'docs', 'windows.md'), 'utf8');
  const rows = installerCodes.map((number) => {
    const { code, meaning, outcome, action } = judgeInstaller(number);
    return `| ${code} | ${meaning} | ${outcome} | ${action} |`;
  });
  const table = ['| code | meaning | outcome | action |', '|---|---|---|---|', ...rows].join('\n');
  const before = text.slice(0, text.indexOf(start) + start.length);
  return `${before}\n${table}\n\n${text.slice(text.indexOf(end))}`;
}
