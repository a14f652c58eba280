import { expect, test } from 'vitest';
import { matchPage } from './match-page.ts';

test('returns the first group of each match, line by line', async () => {
  const page = '<a href="v1.34.2/">\n<a href="v1.34.3/">\nv9\n';
  expect(await matchPage('^<a href="v([0-9.]+)/"', page)).toEqual(['1.34.2', '1.34.3']);
});

test('finds what is at the end of a page of many parts', async () => {
  const page = `${'filler\n'.repeat(60_000)}release 2.0.1\n`;
  expect(await matchPage('^release ([0-9.]+)$', page)).toEqual(['2.0.1']);
});

/** With a backtracking engine each of these takes longer than anyone waits. */
test.each(['(a+)+$', '(a|a)*b', '((|){50})x', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
  'ends with %s on a hostile page',
  async (pattern) => {
    expect(await matchPage(pattern, `${'a'.repeat(5000)}!`)).toEqual([]);
  },
);

test.each(['(?=a)(b)', '(a)\\1', '(a'])('refuses %s', async (pattern) => {
  await expect(matchPage(pattern, 'a')).rejects.toMatchObject({ code: 'recipe-invalid' });
});

test('stops a pattern that takes too long, and does not block other work in the meantime', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 20);
  const begun = performance.now();
  const matching = matchPage('((?:a?){900})[xy]', 'a'.repeat(1_000_000), undefined, 500);
  await expect(matching).rejects.toMatchObject({
    code: 'recipe-invalid',
    message: 'The pattern takes longer than 0.5 s on the page.',
  });
  clearInterval(timer);
  expect(turns).toBeGreaterThan((performance.now() - begun) / 200);
});

test('stops when the caller does', async () => {
  const leaving = new AbortController();
  const matching = matchPage('((?:a?){900})[xy]', 'a'.repeat(1_000_000), leaving.signal);
  leaving.abort(new Error('left'));
  await expect(matching).rejects.toThrow('left');
});

test('finds a match anywhere in a page without line breaks', async () => {
  const page = `${'x'.repeat(128 * 1024 - 3)}v1.2.3${'x'.repeat(300_000)}v1.2.4`;
  expect(await matchPage('v([0-9.]+)', page)).toEqual(['1.2.3', '1.2.4']);
});

test.each([
  ['nested', '((?:(?:a?){100}){100})'],
  ['adjacent', `(${'(?:a{30}b{30}){15}'.repeat(50)})`],
])('refuses %s repetitions that become a large program', async (_, pattern) => {
  await expect(matchPage(pattern, 'a')).rejects.toMatchObject({ code: 'recipe-invalid' });
});
