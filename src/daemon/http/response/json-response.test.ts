import { expect, test } from 'vitest';
import { StreamedJson, streamedJsonResponse } from './json-response.ts';

async function* parts(lists: readonly (readonly number[])[], fail?: Error) {
  for (const list of lists) yield list;
  if (fail !== undefined) throw fail;
  return { kept: 1, note: 'a "word"', absent: undefined };
}

function bodyOf(lists: readonly (readonly number[])[]): Promise<unknown> {
  return streamedJsonResponse(200, new StreamedJson(parts(lists))).then((response) => response.json());
}

test('a list in parts is one document, with the other fields beside it', async () => {
  const rest = { kept: 1, note: 'a "word"' };
  expect(await bodyOf([[1, 2], [], [3]])).toEqual({ items: [1, 2, 3], ...rest });
  expect(await bodyOf([[], [1]])).toEqual({ items: [1], ...rest });
  expect(await bodyOf([[]])).toEqual({ items: [], ...rest });
  expect(await bodyOf([])).toEqual({ items: [], ...rest });
});

test('what fails before the first part is an ordinary error', async () => {
  const answer = new StreamedJson(parts([], new Error('no database')));
  await expect(streamedJsonResponse(200, answer)).rejects.toThrow('no database');
});

test('what fails later cuts the answer short', async () => {
  const response = await streamedJsonResponse(200, new StreamedJson(parts([[1], [2]], new Error('cut'))));
  await expect(response.text()).rejects.toThrow('cut');
});

test('a reader who leaves ends the reading', async () => {
  let ended = false;
  async function* endless(): AsyncGenerator<readonly number[], object> {
    try {
      for (;;) yield [1];
    } finally {
      ended = true;
    }
  }
  const response = await streamedJsonResponse(200, new StreamedJson(endless()));
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(ended).toBe(true);
});
