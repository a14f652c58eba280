import { describe, expect, it } from 'vitest';
import { splitWords, withWords } from './words.ts';

const config = '{"schemaVersion":1}';

describe('words to the agent', () => {
  it('are split from the config, whose text stays', () => {
    const words = { own: true, allow: { cost: 'drain', digest: 'ab' } } as const;
    expect(splitWords(withWords(config, words))).toEqual({ config, words });
    expect(withWords(config, {})).toBe(config);
    expect(splitWords(config)).toEqual({ config, words: {} });
  });

  it.each(['{', 'null', '"x"', '{"allow":{"cost":"reimage","digest":"ab"},"command":{"id":1},"own":1}'])(
    'that are not valid allow and run nothing: %s',
    (line) => {
      expect(splitWords(`${config}\n#imago ${line}`).words).toEqual({});
    },
  );
});
