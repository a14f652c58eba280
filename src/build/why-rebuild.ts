// Explains which layers a build of a lock would make again, and which inputs are the reason.

import { valueChanges } from '../domain/lock/changes.ts';
import type { Lock } from '../domain/lock/lock.ts';
import type { Json } from '../domain/value/json.ts';
import type { LayerPreview } from '../ports/provider/builder.ts';
import type { LayerCache } from './layers/cache.ts';
import { type PlannedLayer, planLayers } from './layers/plan.ts';
import { createRedactor } from './redactor.ts';

type LayerChange = LayerPreview['changes'][number];

/**
 * `previous` is what was built last; without it a miss has no explanation but that it is new. Private inputs go by
 * their alias, and what changed about one is redacted.
 */
export async function whyRebuild(
  lock: Lock,
  previous: Lock | undefined,
  layers: LayerCache,
): Promise<readonly LayerPreview[]> {
  const before = new Map(
    (previous === undefined ? [] : planLayers(previous)).map((layer) => [layer.name, layer]),
  );
  const words = [lock, ...(previous === undefined ? [] : [previous])].map(createRedactor);
  const hide = (text: string) => words.reduce((told, { hide: one }) => one(told), text);
  const verdicts: LayerPreview[] = [];
  for (const layer of planLayers(lock)) {
    const found = await layers.find(layer.key);
    const explained = explain(layer, before.get(layer.name));
    const secret = layer.component?.private === true && explained.length > 0;
    const changes = secret ? [untold] : explained.map((change) => hideChange(change, hide));
    const isSame = layer.kind === 'machine' && layer.snapshot === undefined && changes.length === 0;
    const state = found !== undefined || isSame ? 'hit' : 'miss';
    const { snapshot } = layer;
    verdicts.push({ name: hide(layer.name), state, changes, ...(snapshot && { snapshot }) });
  }
  return verdicts;
}

const untold: LayerChange = { input: 'private input', before: '(private)', after: '(private)' };

function hideChange({ input, before, after }: LayerChange, hide: (text: string) => string): LayerChange {
  return { input: hide(input), before: hide(before), after: hide(after) };
}

function explain(layer: PlannedLayer, before: PlannedLayer | undefined): readonly LayerChange[] {
  if (before === undefined) return [{ input: 'layer', before: '(none)', after: 'new' }];
  if (before.key === layer.key) return [];
  const changes = valueChanges(before.inputs, layer.inputs).map((change) => ({
    input: change.path.join('.'),
    before: show(change.before),
    after: show(change.after),
  }));
  return changes.length > 0 ? changes : [{ input: 'build rules', before: 'older', after: 'newer' }];
}

function show(value: Json | undefined): string {
  if (value === undefined) return '(nothing)';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1…');
}
