import { expect, test } from 'vitest';
import { addToYaml } from './edit-yaml.ts';

const text = `# The image of our nodes.
name: node

packages:
  - curl # for the probes
settings:
  sysctl:
    # Elasticsearch wants it.
    vm.max_map_count: 262144
tests:
  # all of them
  - name: it is "there"
    run: 'true'
`;

test('adds to lists and maps, and keeps comments, quotes, order, and empty lines', () => {
  const edited = addToYaml(text, [
    { path: ['packages'], value: 'jq', append: true },
    { path: ['settings', 'sysctl', 'net.core.somaxconn'], value: '4096', append: false },
    { path: ['settings', 'modules'], value: 'br_netfilter', append: true },
  ]);
  const expected = text
    .replace('  - curl # for the probes\n', '  - curl # for the probes\n  - jq\n')
    .replace('262144\n', '262144\n    net.core.somaxconn: "4096"\n  modules:\n    - br_netfilter\n');
  expect(edited).toBe(expected);
});

test('lists keep their indentation', () => {
  expect(addToYaml('packages:\n- curl\n', [{ path: ['packages'], value: 'jq', append: true }])).toBe(
    'packages:\n- curl\n- jq\n',
  );
});

test('nothing to add changes nothing, whatever the style', () => {
  expect(addToYaml('a:   {b:  1}\n\n\n', [])).toBe('a:   {b:  1}\n\n\n');
});

test('an item with the same name or path is changed, not written twice', () => {
  const units = 'units:\n  - name: a.service # ours\n    dropIn: x\n    state: enabled\n';
  const files = 'files:\n  - path: /etc/a\n    file: a\n  - path: /etc/b\n    content: b\n';
  const edited = addToYaml(`${units}${files}`, [
    { path: ['units'], value: { name: 'a.service', state: 'masked' }, append: true },
    { path: ['files'], value: { path: '/etc/a', content: 'new' }, append: true },
  ]);
  expect(edited).toBe(`${units.replace('enabled', 'masked')}${files.replace('file: a', 'content: new')}`);
});
