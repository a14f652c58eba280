import { expect, test } from 'vitest';
import { type Review, reviewMarkdown, type Scan } from './review-markdown.ts';

const counts = { critical: 0, high: 0, medium: 0, low: 0, unknown: 0 };
const scan = (...ids: string[]): Scan => ({
  tool: 'trivy',
  counts: { ...counts, high: ids.length },
  findings: ids.map((id) => ({ id, level: 'high', where: 'openssl@3.0' })),
});
const review: Review = {
  image: 'node',
  channel: 'production',
  now: {
    ...{ version: '1.36.1001', kubernetes: '1.36.1', usedBytes: 600 * 1024 * 1024, tested: true },
    ...{ bootToReadyMs: 21_000, scans: [scan('CVE-2')] },
  },
  before: {
    ...{ version: '1.36.1000', kubernetes: '1.36.1', usedBytes: 500 * 1024 * 1024, tested: true },
    ...{ bootToReadyMs: 20_000, scans: [scan('CVE-1')] },
  },
  differences: 'Packages\n  ~ openssl 3.0 → 3.1\n\nFiles\n  + /etc/``` x\n  - /etc/y\n',
  gates: [{ gate: 'scan', passed: false, needs: 'none above low', value: '1 high | @team' }],
};

test('shows what changes in production: sizes, boot time, packages, findings, and gates', () => {
  const text = reviewMarkdown(review).join('\n');
  expect(text).toContain('## node:1.36.1001, against 1.36.1000 in production');
  expect(text).toContain('| Used on the disk | 500 MiB | 600 MiB (+100 MiB) |');
  expect(text).toContain('| Boot to ready | 20 s | 21 s (+1 s) |');
  expect(text).toContain('| Findings | trivy: 1 high | trivy: 1 high |');
  expect(text).toContain('### Packages\n\n```diff\n~ openssl 3.0 → 3.1\n```');
  expect(text).toContain('<details><summary>Files (2)</summary>');
  expect(text).toContain('- new: `CVE-2 (high) openssl@3.0`\n- gone: `CVE-1 (high) openssl@3.0`');
  expect(text).toContain('- `✗ scan: needs none above low; 1 high | @team`');
});

test('says what is not known: nothing in production, no test, no scan, no disk', () => {
  const fresh = { ...review, before: undefined, now: { version: '1.0.0', scans: [] } };
  const text = reviewMarkdown({ ...fresh, gates: undefined }).join('\n');
  expect(text).toContain('production has no version yet');
  expect(text).toContain('| Boot to ready | – | not measured |');
  expect(text).toContain('| Tests | – | not tested |');
  expect(text).toContain('node has no channel production yet.');
  expect(reviewMarkdown({ ...review, differences: undefined }).join('\n')).toContain('were not compared');
});

test('a name of a package or a finding ends neither a table nor a block', () => {
  const tool = 'x | <img src=y> `@me`\n|a|';
  const now = { ...review.now, scans: [{ ...scan('`]("'), tool }] };
  const lines = reviewMarkdown({ ...review, now });
  expect(lines.filter((line) => line.startsWith('|')).every((line) => line.split('|').length === 5)).toBe(
    true,
  );
  expect(lines.join('\n')).not.toMatch(/<img|@me/);
  expect(lines.filter((line) => line.includes('```'))).toHaveLength(4);
});

test('a long list of differences is cut: a comment has a limit', () => {
  const lines = Array.from({ length: 1000 }, (_, index) => `  + package-${index}`);
  const text = reviewMarkdown({ ...review, differences: `Packages\n${lines.join('\n')}\n` });
  expect(text.length).toBeLessThan(250);
  expect(text).toContain('and 850 more');
});
