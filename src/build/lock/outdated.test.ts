import { describe, expect, it } from 'vitest';
import { sampleInput, sampleLock } from '../../../test/support/inventory.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { RecipeComponent } from '../../domain/recipe/recipe.ts';
import type { StoredInput } from '../content/content-folder.ts';
import type { DownloadRequest } from '../inputs/download.ts';
import type { LockContext } from './context.ts';
import { findOutdated, newerPackage } from './outdated.ts';

const page = 'https://vault.example.com/hush';

function component(change: Partial<RecipeComponent> = {}): RecipeComponent {
  const updates = { page, pattern: 'tool-([0-9.]+)', within: 'any' } as const;
  return { name: 'tool', version: '1.10.0', from: { file: 'tool' }, to: '/opt/tool', updates, ...change };
}

/** Of a recipe without packages: only pages are asked. */
function outdated(one: RecipeComponent, answer: { text: string; sizeBytes?: number } | Error) {
  const stored = { sha256: '0'.repeat(64), sizeBytes: 1, path: '/nowhere' } satisfies StoredInput;
  const context = {
    downloads: {
      async fetch({ label, maxBytes = 0 }: DownloadRequest) {
        if (answer instanceof Error) throw answer;
        const sizeBytes = answer.sizeBytes ?? answer.text.length;
        if (sizeBytes > maxBytes)
          throw new ImagoError('input-mismatch', `${label} is larger than ${maxBytes}.`);
        return { ...stored, sizeBytes };
      },
    },
    inputs: { readBytes: async () => Buffer.from(answer instanceof Error ? '' : answer.text) },
  } as unknown as LockContext;
  const lock = sampleLock({ method: 'machine', components: [one] }, [
    sampleInput('binary', one.name, { version: '1.10.0', ...(one.private && { private: true }) }),
  ]);
  return findOutdated(lock, context);
}

describe('what is behind', () => {
  it('is reported with the newest version of its page', async () => {
    expect(await outdated(component(), { text: 'tool-1.9.0 tool-1.11.0 tool-1.12.0 tool-1.2.0' })).toEqual({
      behind: [{ kind: 'binary', name: 'tool', current: '1.10.0', newest: '1.12.0', named: true }],
      unknown: [],
      unruled: [],
    });
  });

  it('is nothing when the page has only older versions', async () => {
    const none = { behind: [], unknown: [], unruled: [] };
    expect(await outdated(component(), { text: 'tool-1.9.0 tool-0.99.0 tool-1.10.0' })).toEqual(none);
  });

  it('is unknown, and not nothing, when the page is too large to be read', async () => {
    const { behind, unknown } = await outdated(component(), { text: 'tool-2.0.0', sizeBytes: 2 ** 23 + 1 });
    expect(behind).toEqual([]);
    expect(unknown).toEqual([{ name: 'tool', why: `The page of tool is larger than ${2 ** 23}.` }]);
  });

  it('is not said to be nothing of what has no rule: it is listed, private or not', async () => {
    const { updates: _, ...bare } = component({ from: { url: 'https://vault.example.com/tool' } });
    expect((await outdated(bare, { text: '' })).unruled).toEqual(['tool']);
    expect((await outdated({ ...bare, private: true }, { text: '' })).unruled).toEqual(['private-1']);
    const { updates: __, ...beside } = component();
    expect((await outdated(beside, { text: '' })).unruled).toEqual([]);
  });

  it('never names a private component or its address', async () => {
    const secret = component({ name: 'hushtool', private: true });
    const failure = new ImagoError('download-failed', 'getaddrinfo ENOTFOUND vault.example.com (hushtool)');
    const reports = [
      await outdated(secret, { text: 'tool-1.11.0' }),
      await outdated(secret, failure),
      await outdated(secret, { text: '', sizeBytes: 2 ** 24 }),
    ];
    expect(JSON.stringify(reports)).not.toMatch(/hush|vault/);
    expect(reports[0]?.behind).toMatchObject([{ name: 'private-1', newest: '1.11.0' }]);
    expect(reports[1]?.unknown).toEqual([
      { name: 'private-1', why: 'Its page could not be used (download-failed).' },
    ]);
    expect(reports[2]?.unknown).toHaveLength(1);
  });

  it('among packages is only what has a newer version in the archive, whatever its order', () => {
    expect(newerPackage('1.0-2', ['1.0-1'])).toBeUndefined();
    expect(newerPackage('1.0-2', ['1.0-2'])).toBeUndefined();
    expect(newerPackage('1.0-2', [])).toBeUndefined();
    expect(newerPackage('1:1.9-1', ['1:1.8-1', '1:1.10-1', '1:1.9-2'])).toBe('1:1.10-1');
  });
});
