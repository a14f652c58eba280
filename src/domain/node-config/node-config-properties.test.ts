// What holds for every node config, shown on documents that are made from the schema itself.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../value/canonical-json.ts';
import { agentAbilities, missingAbilities, neededAbilities } from './capabilities.ts';
import type { Field, TextForm } from './field.ts';
import { highestCost, planChanges } from './plan-changes.ts';
import { checkNodeConfig, nodeRules, readNodeConfig, strictRules } from './read-node-config.ts';
import { renderNodeConfig } from './render.ts';
import { type NodeConfig, nodeConfigSchema } from './schema.ts';

const certificate = `-----BEGIN CERTIFICATE-----\n${'QUJD'.repeat(16)}\n-----END CERTIFICATE-----\n`;
const token = 'abcdef.0123456789abcdef';

/** Forms with a look-ahead, which cannot be turned round. */
const samples: readonly (readonly [string, readonly string[]])[] = [
  ['PEM', [certificate, certificate + certificate]],
  ['absolute path', ['/etc/a', '/opt/b/c.conf', '/srv/x']],
  ['public key', [`ssh-ed25519 ${'A'.repeat(68)} me`]],
];

function textOf(form: TextForm, maxLength: number): fc.Arbitrary<string> {
  const sample = samples.find(([says]) => form.says.includes(says));
  if (sample !== undefined) return fc.constantFrom(...sample[1]);
  return fc
    .stringMatching(new RegExp(form.pattern))
    .filter((text) => text.length <= Math.min(maxLength, 120));
}

const line = fc.stringMatching(/^[ -~]{0,12}$/);

function madeFor(field: Field): fc.Arbitrary<unknown> {
  switch (field.type) {
    case 'text':
      if (field.secret === true) return fc.constantFrom(token, 'secret:join');
      return field.form === undefined ? line : textOf(field.form, field.maxLength ?? 1024);
    case 'scalar':
      return field.form === undefined
        ? fc.oneof(fc.maxSafeInteger(), line)
        : fc.oneof(fc.nat(), textOf(field.form, 1024));
    case 'choice':
      return fc.constantFrom(...field.of);
    case 'whole':
      return fc.integer({ min: Math.max(field.min, -1000), max: Math.min(field.max, 2 ** 31 - 1) });
    case 'number':
      return fc.double({ min: field.min, max: field.max, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'any':
      return fc.constantFrom({ cniVersion: '1.0.0', name: 'n', plugins: [{ type: 'bridge' }] });
    case 'list':
      return fc.uniqueArray(madeFor(field.items), {
        minLength: field.minItems ?? 0,
        maxLength: 3,
        selector: (item) =>
          field.key === undefined
            ? item
            : field.key.map((key) => (item as Record<string, unknown>)[key]).join(':'),
      });
    case 'map':
      return fc.dictionary(textOf(field.keys, 63), madeFor(field.values), { maxKeys: 3 });
    case 'object': {
      const entries = Object.entries(field.fields);
      const chosen = field.oneOf === undefined ? undefined : fc.constantFrom(...field.oneOf);
      const whole = fc.record(Object.fromEntries(entries.map(([name, one]) => [name, madeFor(one)])), {
        requiredKeys: entries.filter(([, { required }]) => required).map(([name]) => name),
      }) as fc.Arbitrary<Record<string, unknown>>;
      if (chosen === undefined || field.oneOf === undefined) return whole;
      const alone = Object.fromEntries(entries.map(([name, one]) => [name, madeFor(one)]));
      return chosen.chain((name) => fc.record({ [name]: alone[name] ?? fc.constant(undefined) }));
    }
  }
}

function good(value: unknown): value is NodeConfig {
  return checkNodeConfig(value, strictRules).read !== undefined;
}

const anyConfig = madeFor(nodeConfigSchema).filter(good);
const secrets = () => token;
const runs = { numRuns: 60 };

describe('node configs', () => {
  it('made by the schema differ from it only by rules that concern several fields', () => {
    const kinds = fc
      .sample(madeFor(nodeConfigSchema), 200)
      .map((value) => checkNodeConfig(value, strictRules).problems);
    const messages = new Set(kinds.flat().map(({ message }) => message.replace(/ is .*|is \/.*/, '')));
    for (const message of messages) {
      expect(message).toMatch(
        /keeps from nodes|has no meaning|has a meaning|is masked|below|must be an object|field of its own|unit of the agent|belongs/,
      );
    }
  });

  it('change nothing against themselves, whatever the order of their keys and lists', () => {
    fc.assert(
      fc.property(anyConfig, (config) => {
        expect(planChanges(config, JSON.parse(canonicalJson(config as never)) as NodeConfig)).toEqual([]);
      }),
      runs,
    );
  });

  it('that differ have changes both ways, and cost nothing on a node that has none', () => {
    fc.assert(
      fc.property(anyConfig, anyConfig, (a, b) => {
        expect(planChanges(a, b).length > 0).toBe(planChanges(b, a).length > 0);
        expect(highestCost(planChanges(undefined, b))).toBe('live');
      }),
      runs,
    );
  });

  it('never show a secret in a plan', () => {
    fc.assert(
      fc.property(anyConfig, anyConfig, (a, b) => {
        expect(JSON.stringify(planChanges(a, b))).not.toContain(token);
      }),
      runs,
    );
  });

  it('render to one text, whatever the order of their keys, that a node reads', () => {
    fc.assert(
      fc.property(anyConfig, (config) => {
        const facts = { name: 'web-000001', pool: 'web' };
        const { text, config: rendered } = renderNodeConfig(config, facts, secrets);
        const reversed = Object.fromEntries(Object.entries(config).toReversed()) as unknown as NodeConfig;
        expect(renderNodeConfig(reversed, facts, secrets).text).toBe(text);
        expect(readNodeConfig(text, nodeRules)).toEqual({ config: rendered, ignored: [] });
        expect(renderNodeConfig(rendered, facts, secrets).text).toBe(text);
        expect(rendered.node).toMatchObject(facts);
        expect(text).not.toContain('secret:join');
      }),
      runs,
    );
  });

  it('need only what the agent of this Imago can do', () => {
    fc.assert(
      fc.property(anyConfig, (config) => {
        expect(missingAbilities(neededAbilities(config), agentAbilities(), () => [])).toEqual([]);
      }),
      runs,
    );
  });

  it('with fields of a later release are refused where people write, and pass where a node reads', () => {
    fc.assert(
      fc.property(anyConfig, (config) => {
        const { text } = renderNodeConfig(config, {}, secrets);
        const newer = JSON.stringify({ ...(JSON.parse(text) as object), quantum: { on: true } });
        expect(() => readNodeConfig(newer, strictRules)).toThrow('quantum is not a field');
        expect(readNodeConfig(newer, nodeRules).ignored).toEqual([['quantum']]);
      }),
      runs,
    );
  });
});
