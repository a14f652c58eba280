import { expect, test } from 'vitest';
import { sampleLock } from '../../../test/support/inventory.ts';
import { createBuilder } from '../../build/builder.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { Json } from '../../domain/value/json.ts';
import { agentBundle } from './images.ts';

const call = { signal: AbortSignal.timeout(60_000), epoch: 0 };
const recipe = { ...sampleLock({ components: [], settings: {} }).recipe } as unknown as Json;

test('refuses to lock, build or preview an image if the agent that was named does not exist', async () => {
  const agent = await agentBundle({ IMAGO_AGENT: '/nonexistent/agent' });
  expect(agent).toBe('missing');
  const builder = createBuilder({ cacheFolder: '/nonexistent/cache', agent });
  const refused = { code: 'agent-missing', hint: expect.stringContaining('scripts/build-agent.ts') };
  await expect(builder.tools.preview(recipe as Recipe, call)).rejects.toMatchObject(refused);
});

test('builds without an agent only on request', async () => {
  expect(await agentBundle({ IMAGO_AGENT: 'none' })).toBeUndefined();
});
